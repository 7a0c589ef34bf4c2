import Foundation
import Glibc
import Rondo
import RondoPorts
import RondoSockets
import Synchronization

/// A thread that runs `body` once; whoever joins gets what it returned or threw. One that nobody joins is left to itself.
final class TestThread<Value>: @unchecked Sendable {
  private let body: @Sendable () throws -> Value
  private var result: Result<Value, any Error>?
  private var thread = pthread_t()
  private var hasJoined = false

  init(_ body: @escaping @Sendable () throws -> Value) {
    self.body = body
    let start = Start { self.result = Result(catching: self.body) }
    let error = unsafe pthread_create(
      &thread, nil,
      { argument in
        unsafe Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue().body()
        return nil
      }, Unmanaged.passRetained(start).toOpaque())
    precondition(error == 0, "No thread could be made: errno \(error).")
  }

  /// Waits for the end. On one thread.
  func join() throws -> Value {
    if !hasJoined { _ = pthread_join(thread, nil) }
    hasJoined = true
    return try result!.get()
  }
}

private final class Start {
  let body: () -> Void

  init(_ body: @escaping () -> Void) {
    self.body = body
  }
}

/// Runs `body` on a new thread, with a loop of its own, and waits for it.
func onThread<Value>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
  try TestThread(body).join()
}

/// A new thread's loop, running until it is stopped.
final class RunningLoop: @unchecked Sendable {
  let loop: Loop
  private let thread: TestThread<Loop.RunResult>

  init() {
    let made = Box<Loop?>(nil)
    thread = TestThread {
      let loop = Loop.current
      loop.add(Loop.Source {})
      made.value = loop
      return loop.run()
    }
    while made.value == nil { usleep(100) }
    loop = made.value!
  }

  /// Returns when the thread has ended. On another thread than the loop's.
  func stop() {
    loop.requestStop()
    _ = try? thread.join()
  }

  deinit {
    stop()
  }
}

/// A value that threads share.
final class Box<Value>: @unchecked Sendable {
  private let guarded: Guarded<Value>

  init(_ value: Value) {
    guarded = Guarded(value)
  }

  var value: Value {
    get { guarded.withLock { $0 } }
    set { guarded.withLock { $0 = newValue } }
  }

  func change(_ body: (inout Value) -> Void) {
    guarded.withLock { body(&$0) }
  }
}

/// Waits, giving others the processor, until `condition` holds; a test's time limit is a minute.
func waitUntil(_ condition: () -> Bool) {
  let end = SuspendingClock.now.advanced(by: .seconds(60))
  while !condition(), SuspendingClock.now < end { usleep(100) }
}

/// A name nobody else uses.
func uniqueName() throws -> MessagePortName {
  try MessagePortName("test-\(getpid())-\(UInt64.random(in: 0 ... .max))")
}

/// A directory of one's own, gone with the object.
final class TestDirectory {
  let path: String

  init() {
    path = "/tmp/rondo-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    _ = unsafe mkdir(path, 0o700)
  }

  var files: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? []
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }
}

/// A client that speaks the protocol, or does not, byte by byte.
final class RawClient {
  let socket: Socket

  init(_ name: MessagePortName) throws {
    let address = try name.address
    socket = try Socket(family: address.family, .stream)
    _ = try socket.connect(to: address)
  }

  func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty { rest = rest.dropFirst(try socket.send(rest)) }
  }

  /// Reads frames until the end of the connection, or that many.
  func receive(_ count: Int = .max) throws -> [Frame] {
    var decoder = FrameDecoder<Frame>(limit: 1 << 20)
    var frames: [Frame] = []
    let end = SuspendingClock.now.advanced(by: .seconds(60))
    while frames.count < count, SuspendingClock.now < end {
      let received: Socket.Received
      do {
        received = try socket.receive()
      } catch SocketError.reset {
        // What the peer had not read when it closed.
        received = .end
      }
      switch received {
      case .bytes(let bytes): decoder.append(bytes)
      case .nothing, .datagram: usleep(100)
      case .end: return frames
      }
      while let frame = try decoder.next() { frames.append(frame) }
    }
    return frames
  }
}

/// A synchronous door to what must not be called from async code.
extension RemoteMessagePort {
  func ask(_ text: String, identifier: Int32 = 0) throws(MessagePortError) -> String? {
    try request(Array(text.utf8), identifier: identifier, sendTimeout: .seconds(60), replyTimeout: .seconds(60))
      .map { String(decoding: $0, as: UTF8.self) }
  }
}

extension MessagePortRequest {
  var text: String { String(decoding: bytes, as: UTF8.self) }
}
