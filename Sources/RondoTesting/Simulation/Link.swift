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
  /// One datagram in so many arrives twice, by the seed; nil for none.
  public var duplicatesOneIn: Int?
  /// One datagram in so many is overtaken by others, by the seed; nil for none.
  ///
  /// It comes later by up to four times the latency, or by up to a millisecond if that is more.
  public var delaysOneIn: Int?
  /// How many bytes a packet has at most, its headers included; nil for any number. See IP_MTU in ip(7).
  ///
  /// Larger datagrams travel in fragments, each of which may be lost. Bytes of streams arrive in parts.
  public var mtu: Int? {
    didSet { require(mtu ?? 68 >= 68, "A path's packets have 68 bytes at least, and not \(mtu!).") }
  }
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

  /// Whether a datagram to a host is lost by chance: all of it, if a fragment is.
  func loses(_ count: Int, to host: Host, _ timeline: Timeline) -> Bool {
    guard let losesOneIn else { return false }
    // Each fragment has a header of 20 bytes, and all but the last carry a multiple of 8; the first has 8 bytes of UDP's.
    let fragments = mtu.map { ($0 - 20) & ~7 }.map { (count + 8 + $0 - 1) / $0 } ?? 1
    return (0..<fragments).contains { _ in
      timeline.happens(oneIn: losesOneIn, on: host.address) {
        "a \(fragments == 1 ? "datagram" : "fragment of a datagram") was lost"
      }
    }
  }

  /// When a datagram that a host sends now arrives, each time that it does.
  func arrivals(of count: Int, from host: Host, to target: Host, _ timeline: Timeline) -> [Instant] {
    func happens(_ oneIn: Int?, _ sentence: String) -> Bool {
      oneIn.map { timeline.happens(oneIn: $0, on: target.address) { sentence } } ?? false
    }
    let copies = happens(duplicatesOneIn, "a datagram arrived twice") ? 2 : 1
    return (0..<copies).map { _ in
      let arrival = arrival(of: count, from: host, at: timeline.now)
      guard happens(delaysOneIn, "a datagram was late") else { return arrival }
      let most = max(1_000_000, latency.saturatingNanoseconds.multipliedReportingOverflow(by: 4).partialValue)
      return arrival.advanced(by: Int64(timeline.choose(among: Int(most), on: target.address) { "by \($0) ns more" }))
    }
  }

  /// The parts in which bytes of a stream travel.
  func segments(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    // The headers of IP and TCP.
    guard let mtu, bytes.count > mtu - 40 else { return [bytes] }
    return stride(from: bytes.startIndex, to: bytes.endIndex, by: mtu - 40).map {
      bytes[$0..<min($0 + mtu - 40, bytes.endIndex)]
    }
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
