import Foundation
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestSupport
import Synchronization
import Testing

// The examples of ThreadsAndBlockingWork.md, compiled and run. `ExampleTextTests` compares them with the article.

/// What an example has noted.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

@Suite(.offThePool) struct ThreadsAndBlockingWorkTests {
  @Test func `a file is read on a thread of its own, and its text comes back to the task and to the loop`() async throws
  {
    let log = Log()
    let path = FileManager.default.temporaryDirectory.appending(path: "rondo-\(UUID().uuidString)").path
    try Data("data".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let server = try LoopThread(name: "server")
    let loop = server.loop

    let files = try LoopThread(name: "files")
    let text = try await files.async { try String(contentsOfFile: path, encoding: .utf8) }
    log.note("the task has \(text)")
    files.execute {
      let text = try? String(contentsOfFile: path, encoding: .utf8)
      loop.perform { log.note("the loop has \(text ?? "nothing")") }
    }
    await files.end()

    await server.end()
    #expect(log.text == "the task has data, the loop has data")
  }

  @Test func `a worker thread`() throws {
    let log = Log()

    let worker = try LoopThread(name: "worker")
    worker.loop.add(Loop.Timer(every: .seconds(60)) { _ in log.note("a minute") })
    worker.execute { log.note("on the worker") }
    let answer = try worker.sync { 6 * 7 }
    worker.stop()

    #expect(answer == 42)
    #expect(log.text == "on the worker")
  }

  @Test func `a pool runs what blocks, gives back its error, and refuses what would wait too long`() async throws {
    struct Failure: Error {}
    let pool = try BlockingPool(threads: 1, limit: 2)
    #expect(try await pool.run { 6 * 7 } == 42)
    await #expect(throws: Loop.CallError<any Error>.self) { try await pool.run { throw Failure() } }

    // One runs, one waits, and one is refused.
    let gate = Gate()
    let first = Task { try await pool.run { gate.pass() } }
    await gate.waitForVisitor()
    await withTaskGroup { group in
      for _ in 1...2 {
        group.addTask {
          do { return try await pool.run { "ran" } } catch { return "\(type(of: error))" }
        }
      }
      #expect(await group.next() == "Busy")
      gate.open()
      #expect(await group.next() == "ran")
    }
    try await first.value
  }

  @Test func `a group serves each connection on one of its loops`() async throws {
    let group = try LoopGroup(threads: 2, name: "worker")
    let listener = try Listener(at: .loopback())
    let serving = Task(executorPreference: group.loops[0]) {
      try await listener.serve(over: group) { connection in
        for try await bytes in connection { try await connection.write(bytes) }
      }
    }

    let loop = group.loops[0]
    let address = listener.address
    // On the loop's thread: where other tests hold the task's own, its connections are idle for longer than may be.
    try await withTaskExecutorPreference(loop) {
      var clients: [Connection] = []
      for _ in 1...2 {
        let client = try await Connection.connected(to: address, on: loop)
        try await client.write([1, 2, 3])
        #expect(try await client.read(exactly: 3) == [1, 2, 3])
        clients.append(client)
      }
      #expect(group.loads == [1, 1])
      // The second goes without reading what it asked for.
      try await clients[1].write(Array(repeating: 7, count: 100_000))
    }
    await until { group.loads == [0, 0] }
    serving.cancel()
    try await serving.value
    await group.end()
  }

  @Test func `a thread that another library made has a loop, too`() async throws {
    let (loops, sink) = AsyncStream.makeStream(of: Loop.self)
    let started: @Sendable (Loop) -> Void = { loop in
      sink.yield(loop)
      sink.finish()
    }

    Thread.detachNewThread {
      let loop = Loop.current
      loop.add(Loop.Source {})
      started(loop)
      loop.run()
    }

    var iterator = loops.makeAsyncIterator()
    let loop = try #require(await iterator.next())
    #expect(try await loop.call { 6 * 7 } == 42)
    loop.requestStop()
    // The loop ends with its thread.
    while (try? await loop.call {}) != nil {}
    #expect(!loop.perform {})
  }
}

/// A door at which one thread waits, and word of who waits there.
private final class Gate: Sendable {
  private let isOpen = DispatchSemaphore(value: 0)
  private let hasVisitor = Atomic(false)

  func pass() {
    hasVisitor.store(true, ordering: .releasing)
    isOpen.wait()
  }

  func open() { isOpen.signal() }

  func waitForVisitor() async {
    await until { hasVisitor.load(ordering: .acquiring) }
  }
}

// MARK: - Blocking work

private enum Blocking {
  /// Runs calls that block on threads of its own.
  final class BlockingPool: Sendable {
    struct Busy: Error {}

    private let group: LoopGroup
    private let limit: Int
    private let calls = Atomic(0)

    /// - Parameter limit: How many calls may run or wait.
    init(threads: Int, limit: Int) throws {
      group = try LoopGroup(threads: threads, name: "blocking")
      self.limit = limit
    }

    func run<Value>(_ body: sending @escaping () throws -> sending Value) async throws -> sending Value {
      defer { calls.subtract(1, ordering: .relaxed) }
      guard calls.add(1, ordering: .relaxed).newValue <= limit else { throw Busy() }
      let place = group.place(by: .leastLoaded)
      defer { place.leave() }
      return try await place.loop.call(body)
    }
  }
}

private typealias BlockingPool = Blocking.BlockingPool
