/// What an inspector shows of a server at a moment.
package struct ServerFigures: Sendable {
  package let isDraining: Bool
  /// The connections that are present, and the most at a time; nil for any number.
  package let connections: Int
  package let mostConnections: Int?
  /// The connections and requests since the server began.
  package let accepted: UInt64
  package let requests: UInt64
  /// How often each limit was met, in an order that stays.
  package let limits: [(name: String, count: UInt64)]

  package init(
    isDraining: Bool, connections: Int, mostConnections: Int?, accepted: UInt64, requests: UInt64,
    limits: [(name: String, count: UInt64)]
  ) {
    self.isDraining = isDraining
    (self.connections, self.mostConnections) = (connections, mostConnections)
    (self.accepted, self.requests, self.limits) = (accepted, requests, limits)
  }
}

/// A server of a module above this one.
package protocol ShownServer: AnyObject, Sendable {
  /// Any thread.
  var figures: ServerFigures { get }
}

/// The servers of this process that an inspector shows. Any thread.
package enum ShownServers {
  private struct Entry {
    let name: String
    weak var server: (any ShownServer)?
  }

  private static let entries = PerProcess<[Entry]>([])

  /// Shows a server until `remove(_:)` or its release. A second one at an address has a number behind it.
  package static func add(_ server: any ShownServer, at address: String) {
    entries.withLock { entries in
      entries.removeAll { $0.server == nil }
      var (name, number) = (address, 1)
      while entries.contains(where: { $0.name == name }) {
        number += 1
        name = "\(address) #\(number)"
      }
      entries.append(Entry(name: name, server: server))
    }
  }

  package static func remove(_ server: any ShownServer) {
    entries.withLock { $0.removeAll { $0.server === server } }
  }

  /// In the order in which they began.
  package static var all: [(name: String, figures: ServerFigures)] {
    let servers = entries.withLock { entries in entries.compactMap { entry in entry.server.map { (entry.name, $0) } } }
    return servers.map { ($0, $1.figures) }
  }
}
