import Glibc
import Rondo
import RondoSockets
import RondoTestBridge
import RondoTesting

/// A loop and what its sockets were told, for handlers to share. Everything on it belongs to the loop's thread.
final class Stage: @unchecked Sendable {
  let loop: Loop
  private var traces: [String: Trace] = [:]
  private var kept: [AnyObject] = []

  init(_ loop: Loop) {
    self.loop = loop
  }

  /// What the source of that name was told so far.
  func text(_ name: String) -> String {
    traces[name]?.text ?? ""
  }

  func note(_ name: String, _ token: String) {
    let trace = traces[name] ?? Trace()
    traces[name] = trace
    trace.note(token)
  }

  /// Keeps an object until the stage goes.
  func keep(_ object: AnyObject) {
    kept.append(object)
  }

  /// A source in the default mode that notes every event under `name`, then does more.
  @discardableResult
  func source(
    _ name: String, _ socket: Socket, for callbacks: SocketSource.Callbacks, in mode: Loop.Mode? = .default,
    then more: @escaping @Sendable (SocketSource, SocketSource.Event) -> Void = { _, _ in }
  ) -> SocketSource {
    let source = SocketSource(socket, for: callbacks) { source, event in
      self.note(name, event.word)
      more(source, event)
    }
    if let mode { loop.add(source, to: mode) }
    return source
  }

  /// A source that connects, in the default mode.
  @discardableResult
  func connecting(
    _ name: String, to address: SocketAddress, timeout: Duration? = nil, for callbacks: SocketSource.Callbacks = .data,
    then more: @escaping @Sendable (SocketSource, SocketSource.Event) -> Void = { _, _ in }
  ) throws(SocketError) -> SocketSource {
    let source = try SocketSource(connectingTo: address, timeout: timeout, for: callbacks) { source, event in
      self.note(name, event.word)
      more(source, event)
    }
    loop.add(source)
    return source
  }

  /// Runs the default mode turn by turn until `condition` holds, for at most a minute.
  func run(until condition: () -> Bool) {
    let end = SuspendingClock.now.advanced(by: .seconds(60))
    while !condition(), SuspendingClock.now < end {
      loop.run(until: end, returnAfterSourceHandled: true)
    }
  }

  /// That many turns that only look.
  func look(_ turns: Int = 1) {
    for _ in 0..<turns { loop.run(for: .zero) }
  }
}

extension SocketSource.Event {
  /// What a trace says of it.
  var word: String {
    switch self {
    case .connected: "connected"
    case .connectFailed(let error): "connectFailed(\(error))"
    case .accepted: "accepted"
    case .acceptPaused(let error, let pause): "paused(\(error), \(pause))"
    case .readable: "readable"
    case .received(let bytes): "received(\(String(decoding: bytes, as: UTF8.self)))"
    case .datagram(let datagram): "received(\(String(decoding: datagram.bytes, as: UTF8.self)))"
    case .end: "end"
    case .writable: "writable"
    case .sent: "sent"
    case .failed(let error): "failed(\(error))"
    }
  }
}

/// What a call throws; nil if it returns.
func thrown<Failure: Error>(_ body: () throws(Failure) -> Void) -> Failure? {
  do {
    try body()
    return nil
  } catch {
    return error
  }
}

extension Array where Element == UInt8 {
  init(_ text: String) {
    self = Array(text.utf8)
  }
}

/// Runs `body` with the real loop of a new thread and waits for it.
func onLoopThread<Result>(_ body: @escaping @Sendable (Stage) throws -> Result) throws -> Result {
  let box = ThreadBox { try body(Stage(loopOfThread())) }
  var thread = pthread_t()
  let error = unsafe pthread_create(
    &thread, nil,
    { argument in
      unsafe Unmanaged<AnyThreadBox>.fromOpaque(argument!).takeRetainedValue().run()
      return nil
    }, Unmanaged.passRetained(box as AnyThreadBox).toOpaque())
  precondition(error == 0, "No thread could be made: errno \(error).")
  _ = pthread_join(thread, nil)
  return try box.result!.get()
}

private class AnyThreadBox: @unchecked Sendable {
  func run() {}
}

private final class ThreadBox<Value>: AnyThreadBox, @unchecked Sendable {
  private let body: @Sendable () throws -> Value
  private(set) var result: Result<Value, any Error>?

  init(_ body: @escaping @Sendable () throws -> Value) {
    self.body = body
  }

  override func run() {
    result = Result(catching: body)
  }
}

/// Whether a number stands for an open file.
func isOpen(_ descriptor: CInt) -> Bool {
  fcntl(descriptor, F_GETFD) >= 0
}

/// Which file a number stands for; nil for none. Another test may be given the number, but not the file.
func inode(of descriptor: CInt) -> UInt64? {
  var status = stat()
  return unsafe fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
}

/// A name nobody else uses.
func uniqueName(_ stem: String = "rondo-test") -> String {
  "\(stem)-\(getpid())-\(UInt64.random(in: 0 ... .max))"
}

/// Has the next close(2) of a TCP socket send a reset.
func resetOnClose(_ socket: Socket) {
  var value = linger(l_onoff: 1, l_linger: 0)
  _ = unsafe setsockopt(socket.descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
}

/// A loop of its own thread for the length of `body`.
func withLoop<Result: Sendable>(_ body: (Loop) async throws -> Result) async throws -> Result {
  let thread = try LoopThread(name: "sockets")
  do {
    let result = try await body(thread.loop)
    await thread.end()
    return result
  } catch {
    await thread.end()
    throw error
  }
}
