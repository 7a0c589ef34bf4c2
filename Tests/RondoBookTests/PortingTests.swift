import Dispatch
import Glibc
import Rondo
import RondoPorts
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

// The examples of Porting.md that need no Foundation. `print` is shadowed, so that each test can compare what the example
// prints.

/// The lines that an example has printed.
private final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  func add(_ line: String) { lines.withLock { $0.append(line) } }

  var all: [String] { lines.withLock { $0 } }
}

@Suite(.offThePool) struct PortingTests {
  // MARK: - CFRunLoop

  @Test func `a signal and a post without a wake leave the loop asleep`() {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }
    withVirtualLoop { virtual in
      let loop = virtual.loop
      let source = Loop.Source { print("performed") }
      loop.add(source)
      virtual.at(.milliseconds(10)) {
        source.signal(waking: false)
        loop.perform(waking: false) { print("when something else wakes the loop") }
      }
      loop.run(for: .milliseconds(50))
      #expect(lines.all == ["when something else wakes the loop"])
      #expect(loop.statistics.turns == 1)
      #expect(virtual.elapsed == .milliseconds(50))
      #expect(source.isSignalled)
    }
  }

  // MARK: - Dispatch

  @Test func `a timer of Dispatch, before`() {
    let lines = Lines()
    let ticked = DispatchSemaphore(value: 0)
    @Sendable func print(_ line: String) {
      lines.add(line)
      ticked.signal()
    }
    let queue = DispatchQueue(label: "before")

    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1), leeway: .milliseconds(100))
    timer.setEventHandler { print("tick") }
    timer.activate()

    ticked.wait()
    timer.cancel()
    #expect(lines.all.first == "tick")
  }

  @Test func `a timer of Dispatch, after`() {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }
    withVirtualLoop { virtual in
      let loop = virtual.loop

      let timer = Loop.Timer(every: .seconds(1), tolerance: .milliseconds(100)) { _ in print("tick") }
      loop.add(timer)

      #expect(loop.run(for: .milliseconds(3_200)) == .timedOut)
    }
    #expect(lines.all == ["tick", "tick", "tick"])
  }

  // MARK: - libuv and libevent

  @Test func `a descriptor of libuv or libevent, after`() throws {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }
    let outcome = onOwnThread {
      Result {
        let loop = Loop.current
        let pipe = Pipe()
        let reader = pipe.reader
        pipe.write([104, 105])

        let source = try Loop.DescriptorSource(reader, for: .read) { source, _ in
          guard let text = readText(from: source.descriptor) else { return source.invalidate() }
          print(text)
        }
        loop.add(source)

        pipe.closeWriter()
        #expect(loop.run() == .finished)
        #expect(!source.isValid)
      }
    }
    try outcome.get()
    #expect(lines.all == ["hi"])
  }

  // MARK: - Ports

  @Test func `a named port answers a request`() throws {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }
    let name = try MessagePortName("porting-\(getpid())")
    let server = try LoopThread(name: "server")
    try server.sync {
      let loop = Loop.current
      let port = try LocalMessagePort(answering: name) { request in request.bytes.reversed() }
      loop.add(port, to: .common)
    }
    try LoopThread(name: "asker").sync {
      let remote = try RemoteMessagePort(name)
      let reply = try remote.request(Array("abc".utf8), sendTimeout: .seconds(1), replyTimeout: .seconds(60)) ?? []
      print(String(decoding: reply, as: UTF8.self))
    }
    server.stop()
    #expect(lines.all == ["cba"])
  }
}

/// A pipe that is closed with its last reference.
private final class Pipe: @unchecked Sendable {
  let reader: CInt
  private(set) var writer: CInt

  init() {
    var ends: [CInt] = [-1, -1]
    let error = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0, &ends)
    precondition(error == 0, "No pipe could be made: errno \(errno).")
    (reader, writer) = (ends[0], ends[1])
  }

  deinit {
    close(reader)
    closeWriter()
  }

  func write(_ bytes: [UInt8]) { _ = unsafe Glibc.write(writer, bytes, bytes.count) }

  func closeWriter() {
    if writer >= 0 { close(writer) }
    writer = -1
  }
}

private final class Box<Value: Sendable>: Sendable {
  let value = Mutex<Value?>(nil)
}

/// Runs `body` on a thread whose loop nothing else runs, and returns its result.
private func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
  let box = Box<Value>()
  let isDone = DispatchSemaphore(value: 0)
  DispatchQueue(label: "own thread").async {
    box.value.withLock { $0 = body() }
    isDone.signal()
  }
  isDone.wait()
  return box.value.withLock { $0! }
}

/// The bytes that can be read now, as text; nil at the end of the file.
private func readText(from descriptor: CInt) -> String? {
  var bytes = [UInt8](repeating: 0, count: 512)
  let count = unsafe read(descriptor, &bytes, bytes.count)
  return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
}
