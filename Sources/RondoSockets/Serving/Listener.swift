internal import CLinux
internal import Glibc
internal import Rondo

/// A stream socket that listens, for tasks that serve its connections. Any thread.
///
/// ```swift
/// let listener = try Listener.unix(path, mode: 0o600)
/// let serving = Task { try await listener.serve(on: loop) { try await $0.write("Hello\n") } }
/// let client = try await Connection.connected(to: listener.address, on: loop)
/// print(try await client.readLine() ?? "no line")
/// listener.stop()
/// ```
///
/// The last reference that is released closes the socket. With callouts, use a `SocketSource` of ``socket``.
public final class Listener: Sendable {
  /// The socket. It is open as long as you keep it.
  public let socket: Socket
  /// Where the socket listens, with the port that the kernel chose.
  public let address: SocketAddress
  /// *constant* The file that the listener has made; nil for other addresses.
  private let file: SocketFile?
  /// *its own lock*
  private let state = Guarded(State())

  private struct State {
    var isStopped = false
    /// Another process has the socket, and accepts.
    var isHandedOver = false
    /// Called by `stop()`, by the numbers of the doors.
    var doors: [Int: @Sendable () -> Void] = [:]
    var lastNumber = 0
  }

  /// Listens at an address.
  ///
  /// An internet address is free immediately after its last listener has closed (SO_REUSEADDR). For a file, it is
  /// ``unix(_:mode:replacesStale:backlog:)`` with its defaults.
  ///
  /// - Parameters:
  ///   - backlog: How many connections may wait to be accepted. The kernel caps it: net.core.somaxconn.
  ///   - options: Set before it is bound. Accepted sockets inherit them.
  /// - Throws: `.addressInUse`, `.notPermitted`, `.notFound` for a missing directory, `.exhausted`, and other errors of
  ///   socket(2), bind(2) and listen(2).
  public convenience init(
    at address: SocketAddress, backlog: Int = Socket.usualBacklog, options: [Socket.Option] = []
  ) throws(SocketError) {
    if case .unix(let name) = address, name.place == .file {
      try self.init(name, mode: Self.usualMode, replacesStale: true, backlog: backlog, options: options)
    } else {
      try self.init(Socket.listening(at: address, backlog: backlog, options: options), nil)
    }
  }

  /// Listens at a Unix-domain address in the file system.
  ///
  /// ``stop()`` and the release of the listener remove the file, unless another has replaced it.
  ///
  /// - Parameters:
  ///   - path: At most 107 bytes.
  ///   - mode: The permissions of the file. A client needs the one to write.
  ///   - replacesStale: Whether a socket's file that no process listens at is replaced. A crash leaves such a file.
  ///   - backlog: How many connections may wait to be accepted.
  /// - Throws: `.addressInUse` if a process listens there, or the file is no socket; `.system` with ENAMETOOLONG or
  ///   EINVAL for a path that no socket can have; other errors as ``init(at:backlog:options:)``.
  public static func unix(
    _ path: String, mode: UInt32 = 0o660, replacesStale: Bool = true, backlog: Int = Socket.usualBacklog
  ) throws(SocketError) -> Listener {
    let name: UnixAddress
    do {
      name = try UnixAddress(path: path)
    } catch {
      if case .tooLong = error { throw .system(.bind, errno: ENAMETOOLONG) }
      throw .system(.bind, errno: EINVAL)
    }
    return try Listener(name, mode: mode, replacesStale: replacesStale, backlog: backlog, options: [])
  }

  /// Takes a socket that listens already, for example one that systemd opened. It does not remove its file.
  ///
  /// - Throws: `.system` with EOPNOTSUPP for a datagram socket, and with EINVAL for one that does not listen.
  public convenience init(_ socket: Socket) throws(SocketError) {
    try self.init(socket, takingOver: false)
  }

  /// - Parameter takesOver: Whether the process that listened removes the socket's file no more: this one does.
  package convenience init(_ socket: Socket, takingOver takesOver: Bool) throws(SocketError) {
    if socket.kind != .stream { throw .system(.listen, errno: EOPNOTSUPP) }
    if rondo_is_simulated(socket.descriptor) == 0 {
      let isListening = try check(.option, rondo_socket_option(socket.descriptor, SOL_SOCKET, SO_ACCEPTCONN)) != 0
      if !isListening { throw .system(.listen, errno: EINVAL) }
    }
    if takesOver, case .unix(let name)? = socket.localAddress, name.place == .file {
      self.init(socket, SocketFile(adopting: name))
    } else {
      self.init(socket, nil)
    }
  }

  /// The owner and its group may connect.
  private static let usualMode: UInt32 = 0o660

  private convenience init(
    _ name: UnixAddress, mode: UInt32, replacesStale: Bool, backlog: Int, options: [Socket.Option]
  ) throws(SocketError) {
    let socket = try Socket(family: AF_UNIX, .stream)
    for option in options { try socket.set(option) }
    let file = try SocketFile(of: socket, at: name, mode: mode, replacesStale: replacesStale, backlog: backlog)
    self.init(socket, file)
  }

  private init(_ socket: Socket, _ file: SocketFile?) {
    self.socket = socket
    self.file = file
    address = socket.localAddress ?? .unix(.unnamed)
  }

  deinit {
    if !isHandedOver { file?.remove() }
  }

  // MARK: - The stop

  /// Whether ``stop()`` was called. Any thread.
  public var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Ends accepting, and has ``serve(on:limits:grace:in:onError:_:)`` drain and return. Any thread.
  ///
  /// `serve` still takes the connections that wait in the queue, as many as it has room for: a request that has come is
  /// served. ``connections(on:in:)`` ends without them. A second call does nothing.
  public func stop() {
    let doors = state.withLock { state in
      state.isStopped = true
      defer { state.doors = [:] }
      return state.doors.sorted { $0.key < $1.key }.map(\.value)
    }
    if !isHandedOver { file?.remove() }
    for stop in doors { stop() }
  }

  /// Leaves the queue and the file to another process, which has the socket, too. Any thread.
  package func handOver() { state.withLock { $0.isHandedOver = true } }

  package var isHandedOver: Bool { state.withLock { $0.isHandedOver } }

  /// Has the loop watch the listener, for a sequence or a server.
  ///
  /// - Parameter onStop: Called by `stop()`, on its thread; immediately if that was called before.
  func open(
    on loop: Loop, in mode: Loop.Mode, onStop: @escaping @Sendable () -> Void = {}
  ) throws(ConnectionError) -> Door {
    let lease = try ReadinessLease(socket.descriptor, of: socket, on: loop, in: mode)
    let stop: @Sendable () -> Void = { [record = lease.record] in
      record.drain()
      onStop()
    }
    let number = state.withLock { state -> Int? in
      if state.isStopped { return nil }
      state.lastNumber += 1
      state.doors[state.lastNumber] = stop
      return state.lastNumber
    }
    if number == nil { stop() }
    return Door(self, lease, number ?? 0)
  }

  /// One that accepts; until it is released, a stop reaches it.
  final class Door: Sendable {
    let listener: Listener
    let lease: ReadinessLease
    private let number: Int

    fileprivate init(_ listener: Listener, _ lease: ReadinessLease, _ number: Int) {
      self.listener = listener
      self.lease = lease
      self.number = number
    }

    deinit {
      listener.state.withLock { $0.doors[number] = nil }
    }
  }
}
