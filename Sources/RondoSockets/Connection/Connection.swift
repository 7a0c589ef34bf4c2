internal import Glibc
public import Rondo
internal import Synchronization

/// A stream of bytes to and from a peer, for async code.
///
/// It uses TCP, a Unix-domain socket, or pipes; `RondoTLS` makes a secured one of it.
///
/// ```swift
/// for try await bytes in connection { try await connection.write(bytes) }
/// ```
///
/// Each call tries first, and suspends only if nothing can be moved. A task that reads slowly slows the peer down, and a
/// slow peer suspends the task that writes: the connection keeps no queue. Cancelling a task ends its call with
/// `.wait(.cancelled)`; what was received stays for the next call.
///
/// Use it from any thread. One task reads at a time; a second one gets `.wait(.alreadyAwaited)`. Any number of tasks
/// write: each write is sent whole, in the order of the calls.
public final class Connection: Sendable {
  /// The loop that watches the descriptor.
  public let loop: Loop
  /// *constant*
  package let transport: Transport
  /// *atomic*
  private let hasClosed = Atomic(false)
  /// *atomic* Whether a task reads.
  private let isReading = Atomic(false)
  /// *the task that reads*
  let inbox = Inbox()
  /// *constant* For one writer at a time.
  let writers = Turnstile()
  /// *atomic* Whether a write has failed after a part of its bytes. The task that writes sets it.
  let isCutShort = Atomic(false)
  /// *atomic* Whether another connection reads and writes in its place.
  private let hasCover = Atomic(false)
  /// *constant* from `hasCover` on. That connection.
  @safe private nonisolated(unsafe) weak var cover: Connection?

  /// Makes a connection over a transport.
  private init(_ transport: Transport, on loop: Loop) {
    self.transport = transport
    self.loop = loop
  }

  /// Makes a connection of a connected stream socket. Any thread.
  ///
  /// The loop watches the socket, edge-triggered, until the connection is closed or released. A `SocketSource` of the
  /// same loop and socket is then refused.
  ///
  /// - Parameters:
  ///   - loop: Watches the socket.
  ///   - mode: The mode in whose runs it does.
  /// - Throws: `.wait(.descriptor)` if the loop cannot watch the socket.
  public convenience init(_ socket: Socket, on loop: Loop, in mode: Loop.Mode = .common) throws(ConnectionError) {
    require(socket.kind == .stream, "A connection is a stream. Use Socket.datagrams(on:) for datagrams.")
    self.init(try SocketTransport(socket, on: loop, in: mode), on: loop)
  }

  /// Makes a connection of descriptors that are no sockets, and owns them.
  ///
  /// They are the ends of pipes, or a terminal. Until they close, both are non-blocking, for all processes that share
  /// them. They are closed on exec, unless they are standard streams. SIGPIPE is never raised. epoll(7) refuses other
  /// devices, such as /dev/null: a call that need not wait succeeds, and a wait throws
  /// `.wait(.invalidated(.refused(errno: EPERM)))`.
  ///
  /// - Parameters:
  ///   - input: Read from; nil for none.
  ///   - output: Written to; nil for none. Not the same number as `input`.
  /// - Throws: `.wait(.descriptor)` if the loop cannot watch one, as for a regular file. You then still own both.
  public convenience init(
    reading input: CInt? = nil, writing output: CInt? = nil, on loop: Loop, in mode: Loop.Mode = .common
  ) throws(ConnectionError) {
    require(input == nil || input != output, "A descriptor for both directions is a socket. Use Connection(Socket(…)).")
    self.init(try PipeTransport(reading: input, writing: output, on: loop, in: mode), on: loop)
  }

  deinit {
    // Another connection goes on in its place, and closes with its own last reference.
    if !isCovered { close() }
  }

  // MARK: - State

  /// Whether a layer of TLS is between the socket and the connection.
  package var isSecured: Bool { transport is LayeredTransport }

  /// The socket; nil for pipes. It closes when its last reference is released.
  public var socket: Socket? { transport.socket }

  /// The peer's address; nil without one. See getpeername(2).
  public var peer: SocketAddress? { socket?.peerAddress }

  /// Whether the connection was closed on this side.
  public var isClosed: Bool { hasClosed.load(ordering: .acquiring) }

  /// Whether another connection reads and writes in its place.
  var isCovered: Bool { hasCover.load(ordering: .acquiring) }

  /// The longest time without a byte while a task waits; nil for no limit.
  ///
  /// It counts from the last byte in either direction, or from the beginning of the wait if that is later. The wait then
  /// ends with `.wait(.timedOut)`, never early. A change counts for waits that have begun, too.
  public var idleLimit: Duration? {
    get { records.first?.idleLimit }
    set { for record in records { record.idleLimit = newValue } }
  }

  /// When no task waits any longer; nil for no limit.
  ///
  /// A wait ends at this date with `.wait(.timedOut)`, never early; one that begins later ends immediately. Set it for
  /// each request: `connection.deadline = loop.clock.now + .seconds(10)`. A peer that sends a byte at a time restarts
  /// `idleLimit`, but does not move the deadline.
  public var deadline: SuspendingClock.Instant? {
    get { records.first?.deadline }
    set { for record in records { record.deadline = newValue } }
  }

  /// One for both directions of a socket, and one for each pipe.
  private var records: [ReadinessRecord] {
    [transport.input, transport.output].compactMap { $0?.record }
  }

  /// Sets the deadline for a limit of the server's, which counts a wait that it ends; nil for one of the program's.
  package func setDeadline(_ date: SuspendingClock.Instant, of limit: ServerLimit?) {
    for record in records { record.setDeadline(date, of: limit) }
  }

  // MARK: - Ends

  /// Ends the connection immediately, in both directions. Any thread; a second call does nothing.
  ///
  /// The kernel still sends what was written. Calls that wait, and later ones, throw `.closed`. The release of the last
  /// reference does the same.
  public func close() {
    if hasClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    // First, so that it can say goodbye.
    if isCovered { cover?.close() }
    for record in records { record.release() }
    transport.close()
  }

  /// Ends sending, after earlier writes. The peer can still send. Any thread.
  ///
  /// It waits for writes of other tasks, and for no room. A secured connection waits until there is room for close_notify.
  ///
  /// - Throws: `.socket` with errors of shutdown(2), `.wait(.cancelled)`, `.closed`.
  public nonisolated(nonsending) func finishWriting() async throws(ConnectionError) {
    if !writers.tryToEnter() { try await writers.enter() }
    defer { writers.leave() }
    _ = try record(of: .write)
    if isClosed || isCovered { throw .closed }
    if try transport.finish() { return }
    _ = try await move(.write, after: .wait) { () throws(ConnectionError) in
      try transport.finish() ? .moved(0, mayGoOn: true) : .blocked
    }
  }

  // MARK: - Serving

  /// Says that the calling task is the one that a server made for the connection, and cancels by `cancelServed()`.
  func serve() {
    for record in records { record.serve() }
  }

  /// Sets what a server grants the client, which was accepted just now.
  func begin(for server: ServerRecord) {
    transport.input?.record.wasAccepted()
    transport.input?.record.server = server
    if let idle = server.limits.idle { idleLimit = idle }
    if let firstByte = server.limits.firstByte { transport.input?.record.limitFirstByte(to: firstByte) }
  }

  /// That of the server which has accepted the connection; one with the default limits if none has.
  package var server: ServerRecord { transport.input?.record.server ?? .unserved }

  /// Has ``awaitRequest()`` return false from now on, unless a part of a request has come. Any thread.
  ///
  /// `Listener.serve(on:)` calls it when it stops. Call it for connections of your own when your server stops.
  public func drain() {
    transport.input?.record.drain()
  }

  /// Whether the server drains, and no byte of another request has come. The task that reads.
  package var isAtEnd: Bool { inbox.count == 0 && transport.input?.record.isDraining ?? false }

  /// Ends the waits of the server's task, which was cancelled. Any thread.
  func cancelServed() {
    for record in records { record.cancelServed() }
  }

  // MARK: - Layers

  /// Makes a connection of a layer over this one's transport, which reads and writes in this one's place from then on.
  ///
  /// The limits of time are those of both. If this one closes, the other one does.
  ///
  /// - Parameter make: Given what was received and not read, and the right to fill it.
  /// - Throws: `.wait(.alreadyAwaited)` if a task reads or writes, `.writeCutShort`, `.closed`.
  package func covered(
    by make: (Transport, Inbox) throws(ConnectionError) -> any TransportLayer
  ) throws(ConnectionError) -> Connection {
    try beginReading()
    let isFree = writers.tryToEnter()
    defer { if isFree { writers.leave() } }
    let layer: any TransportLayer
    do throws(ConnectionError) {
      if !isFree { throw .wait(.alreadyAwaited) }
      if isClosed { throw .closed }
      try checkForCut()
      layer = try make(transport, inbox)
    } catch {
      endReading()
      throw error
    }
    let connection = Connection(LayeredTransport(layer, over: transport), on: loop)
    cover = connection
    hasCover.store(true, ordering: .releasing)
    // The right to read is never given back.
    isCutShort.store(true, ordering: .relaxed)
    return connection
  }

  // MARK: - Moving bytes

  /// Claims the right to read, for the length of a call.
  func beginReading() throws(ConnectionError) {
    if isReading.exchange(true, ordering: .acquiring) { throw isCovered ? .closed : .wait(.alreadyAwaited) }
  }

  func endReading() {
    isReading.store(false, ordering: .releasing)
  }

  /// Why bytes could not be moved at once.
  package enum Delay {
    /// Others get their turn first.
    case turn
    case wait
  }

  /// What became of an attempt.
  enum Attempt {
    case moved(Int)
    case end
    case delayed(Delay)
  }

  private func record(of direction: ReadinessDirection) throws(ConnectionError) -> ReadinessRecord {
    if let record = (direction == .read ? transport.input : transport.output)?.record { return record }
    throw isClosed ? .closed : .socket(.system(direction == .read ? .receive : .send, errno: EBADF))
  }

  /// Moves bytes, if that needs no wait: an operation begins so, without a suspension.
  func tryToMove(
    _ direction: ReadinessDirection, _ attempt: () throws(ConnectionError) -> Transfer
  ) throws(ConnectionError) -> Attempt {
    let record = try record(of: direction)
    return try record.pay(for: direction) ? .delayed(.turn) : moveOnce(direction, record, attempt)
  }

  private func moveOnce(
    _ direction: ReadinessDirection, _ record: ReadinessRecord, _ attempt: () throws(ConnectionError) -> Transfer
  ) throws(ConnectionError) -> Attempt {
    if isClosed { throw .closed }
    guard record.begin(direction) else { return .delayed(.wait) }
    switch try attempt() {
    case .moved(let count, let mayGoOn):
      record.succeed(direction, mayGoOn: mayGoOn)
      loop.payForBytes(count)
      return .moved(count)
    case .end:
      record.succeed(direction, mayGoOn: true)
      return .end
    case .blocked: return .delayed(.wait)
    }
  }

  /// Waits for the next attempt to read a request.
  ///
  /// - Parameter isLast: Whether a drain waits for one more request.
  /// - Returns: False if the server drains.
  nonisolated(nonsending) func waitForRequest(
    after delay: Delay, isLast: Bool
  ) async throws(ConnectionError) -> Bool {
    let record = try record(of: .read)
    switch delay {
    case .turn:
      try await record.letOthersRun()
      return true
    case .wait: return try await record.waitForRequest(patience: inbox.isFresh ? .first : isLast ? .last : .none)
    }
  }

  /// Waits for the next attempt to read.
  nonisolated(nonsending) func waitToRead(after delay: Delay) async throws(ConnectionError) {
    let record = try record(of: .read)
    switch delay {
    case .turn: try await record.letOthersRun()
    case .wait: try await record.wait(for: .read)
    }
  }

  /// Waits, and moves bytes as soon as that is possible.
  ///
  /// - Returns: How many bytes moved; nil at the end.
  @inline(__always)
  package nonisolated(nonsending) func move(
    _ direction: ReadinessDirection, after delay: Delay, _ attempt: () throws(ConnectionError) -> Transfer
  ) async throws(ConnectionError) -> Int? {
    let record = try record(of: direction)
    var delay = delay
    while true {
      switch delay {
      case .turn: try await record.letOthersRun()
      case .wait: try await record.wait(for: direction)
      }
      switch try moveOnce(direction, record, attempt) {
      case .moved(let count): return count
      case .end: return nil
      case .delayed(let next): delay = next
      }
    }
  }
}
