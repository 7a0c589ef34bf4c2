package import Rondo
internal import Synchronization

/// A limit of a server, by its name in ``ServerLimits``.
package enum ServerLimit: Int, CaseIterable, Sendable {
  case connections, connectionsPerAddress, idle, firstByte, headBytes, headTime, bodyBytes, bodyTime, unreadBytes
  case requests
}

/// What the connections of a server share: their limits, and the counts that an inspector shows. Any thread.
package final class ServerRecord: ShownServer {
  /// *constant*
  package let limits: ServerLimits
  /// *atomic*
  private let isDraining = Atomic(false)
  /// *atomic* The connections that are present.
  private let present = Atomic(0)
  /// *atomic*
  private let accepted = Atomic<UInt64>(0)
  /// *atomic*
  private let requests = Atomic<UInt64>(0)
  /// *its own lock* How often each limit was met.
  private let met = Guarded([UInt64](repeating: 0, count: ServerLimit.allCases.count))

  /// Of connections that no server has accepted.
  static let unserved = ServerRecord(ServerLimits())

  init(_ limits: ServerLimits) { self.limits = limits }

  func connectionBegins() {
    accepted.add(1, ordering: .relaxed)
    present.add(1, ordering: .relaxed)
  }

  func connectionEnds() { present.subtract(1, ordering: .relaxed) }

  func drains() { isDraining.store(true, ordering: .relaxed) }

  /// A request has come.
  package func countRequest() { requests.add(1, ordering: .relaxed) }

  /// A client has met a limit.
  package func count(_ limit: ServerLimit) { met.withLock { $0[limit.rawValue] += 1 } }

  package var figures: ServerFigures {
    let met = met.withLock { $0 }
    return ServerFigures(
      isDraining: isDraining.load(ordering: .relaxed), connections: present.load(ordering: .relaxed),
      mostConnections: limits.connections == .max ? nil : limits.connections,
      accepted: accepted.load(ordering: .relaxed), requests: requests.load(ordering: .relaxed),
      limits: zip(ServerLimit.allCases, met).map { ("\($0)", $1) })
  }
}
