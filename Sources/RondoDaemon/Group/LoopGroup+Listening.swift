import Glibc
public import Rondo
public import RondoSockets
import Synchronization

/// Connections, each on a loop of the group's.
extension LoopGroup {
  /// A connection that was accepted, and the loop that is to serve it.
  public struct Connection: Sendable {
    public let socket: Socket
    /// Who has connected.
    public let peer: SocketAddress
    /// Where it is served. It counts for the loop's load until it is left or let go.
    public let place: Place
    /// What keeps the daemon from its end until it is over or let go. Nil without a daemon.
    public let work: Daemon.Work?

    /// Says that the connection is over: leaves its place, and ends its work.
    public func end() {
      place.leave()
      work?.end()
    }
  }

  /// Accepts connections on one loop, and hands each over to a loop of the group's.
  ///
  /// One listener serves any number of loops and keeps their loads even. The connection is a piece of the daemon's work
  /// from the moment it is accepted, so that a stop between the two loops loses nothing.
  ///
  /// - Parameters:
  ///   - listener: Listens already: a socket of systemd's, or one of your own.
  ///   - loop: Where it accepts; the daemon's, or the group's first, if there is none.
  ///   - daemon: Whose work the connections are, and whose stop ends the accepting.
  ///   - handler: Called on the loop of the connection's place.
  @discardableResult
  public func accept(
    from listener: Socket, on loop: Loop? = nil, by choice: Choice = .leastLoaded, for daemon: Daemon? = nil,
    handler: @escaping @Sendable (Connection) -> Void
  ) -> Listening {
    let loop = loop ?? daemon?.loop ?? loops[0]
    let listening = Listening([
      Listening.Door(listener, on: loop) { [self] socket, peer in
        let work = daemon?.beginWork()
        hand(Connection(socket: socket, peer: peer, place: place(by: choice), work: work), to: handler)
      }
    ])
    stop(listening, with: daemon)
    return listening
  }

  /// Listens at an internet address on every loop of the group's. The kernel chooses one for each connection.
  ///
  /// Nothing is handed over from thread to thread, and no loop is in another's way; the kernel chooses by a hash of the
  /// addresses, whatever a loop has to do. Port 0 is the same free one for all. See SO_REUSEPORT in socket(7).
  ///
  /// - Parameters:
  ///   - daemon: Whose work the connections are, and whose stop ends the accepting.
  ///   - handler: Called on the loop that accepted.
  /// - Throws: `.addressInUse`, `.notPermitted`, `.exhausted` and so on; `.system` for a Unix-domain address.
  @discardableResult
  public func accept(
    at address: SocketAddress, backlog: Int = Socket.usualBacklog, for daemon: Daemon? = nil,
    handler: @escaping @Sendable (Connection) -> Void
  ) throws(SocketError) -> Listening {
    guard address.port != nil else { throw .system(.option, errno: EOPNOTSUPP) }
    var sockets: [Socket] = []
    for _ in loops {
      let socket = try Socket(family: address.family, .stream)
      try socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
      try socket.set(.reusePort)
      try socket.bind(to: sockets.first?.localAddress ?? address)
      sockets.append(socket)
    }
    // Not before all are bound: a failure must not have reset anybody who connected meanwhile.
    for socket in sockets { try socket.listen(backlog: backlog) }
    let listening = Listening(
      sockets.indices.map { index in
        Listening.Door(sockets[index], on: loops[index]) { [self] socket, peer in
          handler(Connection(socket: socket, peer: peer, place: place(on: index), work: daemon?.beginWork()))
        }
      })
    stop(listening, with: daemon)
    return listening
  }

  private func stop(_ listening: Listening, with daemon: Daemon?) {
    daemon?.whenStopping { [weak daemon] in
      // Each door is closed on its own loop: until then the daemon has something to do.
      let work = daemon?.beginWork()
      listening.stop { work?.end() }
    }
  }

  private func hand(_ connection: Connection, to handler: @escaping @Sendable (Connection) -> Void) {
    // A loop that is gone drops the block, and with it the connection: it is closed, and counts no more.
    connection.place.loop.perform(in: .common) { handler(connection) }
  }
}

extension LoopGroup {
  /// Where connections come in, until it is stopped. Accepts whether or not somebody keeps it.
  public final class Listening: Sendable {
    /// *constant*
    private let doors: [Door]
    /// *atomic*
    private let isStopping = Atomic<Bool>(false)

    fileprivate init(_ doors: [Door]) {
      self.doors = doors
    }

    /// Where it listens; nil once it has stopped.
    public var localAddress: SocketAddress? { doors[0].source.socket?.localAddress }

    /// Accepts who has connected already, then closes the listeners. Any thread; again, it changes nothing.
    ///
    /// Each listener is closed on its loop, where it accepts, and on the calling thread at once.
    ///
    /// - Parameter completion: Called on whatever thread when the last one is closed, or its loop is gone.
    public func stop(_ completion: @escaping @Sendable () -> Void = {}) {
      if isStopping.exchange(true, ordering: .relaxed) { return }
      let last = Last(completion)
      for door in doors { door.close(last) }
    }

    /// Calls out when nobody holds it any more: whoever was to let go of it has, or was dropped.
    fileprivate final class Last: Sendable {
      private let completion: @Sendable () -> Void
      init(_ completion: @escaping @Sendable () -> Void) { self.completion = completion }
      deinit { completion() }
    }

    /// One listener on one loop.
    struct Door: Sendable {
      let source: SocketSource
      private let loop: Loop
      private let accepted: @Sendable (Socket, SocketAddress) -> Void

      init(_ listener: Socket, on loop: Loop, _ accepted: @escaping @Sendable (Socket, SocketAddress) -> Void) {
        self.loop = loop
        self.accepted = accepted
        source = SocketSource(listener, for: .accept) { _, event in
          switch event {
          case .accepted(let socket, from: let peer): accepted(socket, peer)
          case .failed(let error): warn("Nobody can connect to a LoopGroup's listener any more: \(error).")
          // No descriptor is left: it pauses by itself.
          default: break
          }
        }
        loop.add(source, to: .common)
      }

      /// Lets go of `last` when it is closed.
      fileprivate func close(_ last: Last) {
        guard !loop.isCurrent else { return closeNow() }
        loop.perform(in: .common) {
          closeNow()
          withExtendedLifetime(last) {}
        }
      }

      private func closeNow() {
        while let (socket, peer) = try? source.socket?.accept() { accepted(socket, peer) }
        source.invalidate()
      }
    }
  }
}
