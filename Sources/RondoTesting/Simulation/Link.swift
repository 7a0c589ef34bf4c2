internal import Rondo

/// The way between two hosts of a simulation, in both directions. *the thread of the simulation*
///
/// A change counts for what is sent from then on, and a cut for what is on its way.
public final class Link: @unchecked Sendable {
  // Unchecked: all of it belongs to the thread of the simulation.

  /// How long a packet takes from one host to the other.
  public var latency: Duration
  /// How many bytes a second each direction carries; nil for any number.
  public var bandwidth: Int?
  /// One datagram in so many is lost, by the seed; nil for none. Without a seed none is.
  public var losesOneIn: Int?
  /// Whether nothing gets through.
  private(set) var isCut = false

  private unowned let simulation: Simulation
  private unowned let one: Host
  private unowned let other: Host
  /// When each direction, from `one` and from `other`, has sent what it was given.
  private var freeAt = (Instant.distantPast, Instant.distantPast)
  private var stopped: [StreamEndpoint] = []

  init(_ one: Host, _ other: Host, latency: Duration) {
    simulation = one.simulation
    self.one = one
    self.other = other
    self.latency = latency
  }

  /// Lets nothing through: packets of streams wait for `heal()`, datagrams are lost.
  ///
  /// A stream whose bytes wait for 15 minutes fails with ETIMEDOUT, one that is about to connect after two minutes.
  public func cut() {
    simulation.checkThread()
    isCut = true
  }

  /// Lets packets through again.
  public func heal() {
    simulation.checkThread()
    isCut = false
    goOn()
  }

  /// Breaks every connection between the two hosts: both ends get ECONNRESET.
  public func reset() {
    simulation.checkThread()
    for endpoint in simulation.network.streams {
      guard let ends = endpoint.hosts, ends == (one, other) || ends == (other, one) else { continue }
      endpoint.breakDown()
    }
  }

  func goOn() {
    let waiting = stopped
    stopped = []
    for endpoint in waiting { endpoint.goOn() }
  }

  func stop(_ endpoint: StreamEndpoint) { stopped.append(endpoint) }

  /// Whether a datagram to a host is lost by chance.
  func loses(to host: Host, _ timeline: Timeline) -> Bool {
    guard let losesOneIn else { return false }
    return timeline.happens(oneIn: losesOneIn, on: host.address) { "a datagram was lost" }
  }

  /// When bytes that a host sends now are there.
  func arrival(of count: Int, from host: Host, at now: Instant) -> Instant {
    var departure = now
    if let bandwidth, count > 0 {
      let duration = Int64((Double(count) / Double(max(1, bandwidth)) * 1e9).rounded(.up))
      if host === one {
        freeAt.0 = max(freeAt.0, now).advanced(by: duration)
        departure = freeAt.0
      } else {
        freeAt.1 = max(freeAt.1, now).advanced(by: duration)
        departure = freeAt.1
      }
    }
    return departure.advanced(by: latency.saturatingNanoseconds)
  }
}

private func == (one: (Host, Host), other: (Host, Host)) -> Bool { one.0 === other.0 && one.1 === other.1 }
