import Glibc
public import Rondo
public import RondoSockets
import Synchronization

/// Connections, each on a loop of the group's.
extension LoopGroup {
  /// An accepted connection, and the loop that is to serve it.
  public struct AcceptedSocket: Sendable {
    /// The socket of the connection.
    public let socket: Socket
    /// The address of the client.
    public let peer: SocketAddress
    /// The loop that serves the connection. The connection adds to the loop's load until its place is left or released.
    public let place: Place
    /// The daemon's work for the connection; nil without a daemon. A stop waits until it is ended or released.
    public let work: Daemon.Work?

    /// Ends the connection's work and leaves its place. It does not close the socket.
    public func end() {
      place.leave()
      work?.end()
    }
  }

  /// Accepts connections on one loop, and passes each to a loop of the group.
  ///
  /// One listener serves any number of loops and balances their load. The connection is work of the daemon from its
  /// acceptance, so a stop between the two loops loses no connection.
  ///
  /// - Parameters:
  ///   - listener: A socket that listens already, from systemd or your own.
  ///   - loop: The loop that accepts; nil for the daemon's loop, or else the group's first.
  ///   - daemon: A stop of this daemon ends the accepting and waits for the connections.
  ///   - handler: Called on the loop of the connection's place.
  @discardableResult
  public func accept(
    from listener: Socket, on loop: Loop? = nil, by choice: Choice = .leastLoaded, for daemon: Daemon? = nil,
    handler: @escaping @Sendable (AcceptedSocket) -> Void
  ) -> Listening {
    let loop = loop ?? daemon?.loop ?? loops[0]
    let listening = Listening([
      Listening.Door(listener, on: loop) { [self] socket, peer in
        let work = daemon?.beginWork()
        hand(AcceptedSocket(socket: socket, peer: peer, place: place(by: choice), work: work), to: handler)
      }
    ])
    stop(listening, with: daemon)
    return listening
  }

  /// Listens at an internet address on every loop of the group.
  ///
  /// The kernel chooses a loop for each connection by a hash of its addresses, not by load. No connection passes from
  /// thread to thread. With port 0, all loops share the same free port. See SO_REUSEPORT in socket(7).
  ///
  /// - Parameters:
  ///   - daemon: A stop of this daemon ends the accepting and waits for the connections.
  ///   - handler: Called on the loop that accepted.
  /// - Throws: `.addressInUse`, `.notPermitted`, `.exhausted` and other errors of listening; `.system` for a
  ///   Unix-domain address.
  @discardableResult
  public func accept(
    at address: SocketAddress, backlog: Int = Socket.usualBacklog, for daemon: Daemon? = nil,
    handler: @escaping @Sendable (AcceptedSocket) -> Void
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
    // Not before all are bound: a failure must not reset clients that have connected to the first ones.
    for socket in sockets { try socket.listen(backlog: backlog) }
    let listening = Listening(
      sockets.indices.map { index in
        Listening.Door(sockets[index], on: loops[index]) { [self] socket, peer in
          handler(AcceptedSocket(socket: socket, peer: peer, place: place(on: index), work: daemon?.beginWork()))
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

  private func hand(_ connection: AcceptedSocket, to handler: @escaping @Sendable (AcceptedSocket) -> Void) {
    // A loop that is gone drops the block, and with it the connection: it is closed, and counts no more.
    connection.place.loop.perform(in: .common) { handler(connection) }
  }
}

extension LoopGroup {
  /// The listeners of a group. They accept until you stop them, even without a reference.
  public final class Listening: Sendable {
    /// *constant*
    private let doors: [Door]
    /// *atomic*
    private let isStopping = Atomic<Bool>(false)

    fileprivate init(_ doors: [Door]) {
      self.doors = doors
    }

    /// The address of the listeners; nil after the stop.
    public var localAddress: SocketAddress? { doors[0].source.socket?.localAddress }

    /// Accepts the connections that wait in the queues, then closes the listeners. Any thread.
    ///
    /// Each listener closes on its loop; on the calling thread it closes immediately. If no descriptor is left for those
    /// that wait, it pauses and tries again, as a `SocketSource` does. It accepts or tries 4,096 times at most, and
    /// fewer when all fail. A second call does nothing.
    ///
    /// - Parameter completion: Called on any thread when the last listener is closed, or its loop has ended.
    public func stop(_ completion: @escaping @Sendable () -> Void = {}) {
      if isStopping.exchange(true, ordering: .relaxed) { return }
      let last = Last(completion)
      for door in doors { door.close(last) }
    }

    /// Calls out when its last reference goes: each door has closed, or was dropped.
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
        guard !loop.isCurrent else { return empty(nil, rounds: 0, last) }
        loop.perform(in: .common) { empty(nil, rounds: 0, last) }
      }

      /// Accepts what waits, then closes. Clients may come as fast: it makes as many tries as a queue has places. When 256
      /// in a row have failed, the others would as well.
      ///
      /// While no descriptor is left it pauses, since closing would reset those that wait.
      private func empty(_ backoff: Backoff?, rounds: Int, _ last: Last) {
        source.disable(.accept)
        var failures = 0
        for round in rounds..<max(rounds, Socket.usualBacklog) {
          do throws(SocketError) {
            switch try source.socket?.acceptNext() ?? .nothing {
            case .connection(let socket, let peer):
              failures = 0
              accepted(socket, peer)
            case .failed:
              failures += 1
              if failures == 256 { return source.invalidate() }
            case .nothing: return source.invalidate()
            }
          } catch  where error.isShortage {
            if backoff == nil { warn("A LoopGroup that stops cannot accept those that wait yet: \(error).") }
            var backoff = backoff ?? .accepting
            let timer = Loop.Timer(after: backoff.next()) { [backoff] _ in empty(backoff, rounds: round + 1, last) }
            // A loop that has ended lets go of `last`, and of the listener.
            loop.add(timer, to: .common)
            return
          } catch {
            return source.invalidate()
          }
        }
        source.invalidate()
      }
    }
  }
}
