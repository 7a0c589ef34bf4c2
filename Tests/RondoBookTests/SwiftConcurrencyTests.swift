import Rondo
import RondoAsync
import RondoSockets
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

// The examples of SwiftConcurrency.md, compiled and run. `ExampleTextTests` compares them with the article, and
// `CompilerMessagesTests` compiles those that cure a message beside those that have it.

/// What a task leaves for a test.
private final class Shared<Value: Sendable>: Sendable {
  private let box: Mutex<Value>

  init(_ value: Value) { box = Mutex(value) }

  var value: Value {
    get { box.withLock { $0 } }
    set { box.withLock { $0 = newValue } }
  }
}

@Suite(.offThePool) struct SwiftConcurrencyTests {
  // MARK: - Actors

  @Test func `an actor of a loop counts its timer's ticks`() async throws {
    let thread = try LoopThread(name: "meter")
    #expect(try await countBeats(on: thread.loop) == 3)
    await thread.end()
  }

  @Test func `in virtual time the second passes without a wait`() {
    let count = Shared(0)
    withVirtualLoop { virtual in
      let loop = virtual.loop
      Task(executorPreference: loop) {
        let ticks = try await countBeats(on: loop)
        count.value = ticks
      }
      virtual.advance(by: .milliseconds(999))
      #expect(count.value == 0)
      virtual.advance(by: .milliseconds(1))
      virtual.runUntilIdle()
      #expect(count.value == 3)
    }
  }

  @Test func `a handler sees a value that it captures, and no task local`() async throws {
    let seen = try await withLoopThread { thread in try await requestNames(on: thread.loop) }
    #expect(seen == ["none", "7"])
  }

  // MARK: - Cancellation and timeouts

  @Test func `a closure that ends in time gives its value, and leaves no timer`() {
    let outcome = Shared(0)
    withVirtualLoop { virtual in
      let loop = virtual.loop
      Task(executorPreference: loop) {
        @Sendable func ask() async throws -> Int {
          try await loop.clock.sleep(for: .seconds(4))
          return 7
        }
        let answer = try await withTimeout(.seconds(5), on: loop) { try await ask() }
        outcome.value = answer
      }
      virtual.advance(by: .seconds(10))
      virtual.runUntilIdle()
      #expect(outcome.value == 7)
      #expect(loop.nextFireDate(in: .default) == nil)
    }
  }

  @Test func `a cancelled task waits for nothing, and still says goodbye`() async throws {
    let thread = try LoopThread(name: "goodbye")
    let loop = thread.loop
    let (near, far) = try Connection.pair(on: loop)
    let task = Task {
      await until { Task.isCancelled }
      await #expect(throws: CancellationError.self) { try await loop.clock.sleep(for: .seconds(60)) }
      await #expect(throws: Loop.WaitError.cancelled) { try await loop.readable(near.socket!.descriptor) }
      await goodbye(to: near)
    }
    task.cancel()
    await task.value
    #expect(try await far.readLine() == "bye")
    await thread.end()
  }

  @Test func `a cancelled task reads nothing, and what is there stays`() async throws {
    let thread = try LoopThread(name: "reader")
    let loop = thread.loop
    let (near, far) = try Connection.pair(on: loop)
    try await far.write([1, 2, 3])
    let task = Task {
      await until { Task.isCancelled }
      var pieces: [[UInt8]] = []
      do {
        for try await piece in near { pieces.append(piece) }
      } catch ConnectionError.wait(.cancelled) {
        return pieces
      }
      return [[0]]
    }
    task.cancel()
    #expect(try await task.value == [])
    #expect(try await near.read() == [1, 2, 3])
    await thread.end()
    withExtendedLifetime(far) {}
  }

  @Test func `a call that has begun gives its result to a cancelled task`() async throws {
    let thread = try LoopThread(name: "call")
    let loop = thread.loop
    final class Flags: Sendable {
      let hasBegun = Atomic(false)
      let mayEnd = Atomic(false)
    }
    let flags = Flags()
    let task = Task {
      try await loop.call {
        flags.hasBegun.store(true, ordering: .releasing)
        while !flags.mayEnd.load(ordering: .acquiring) {}
        return 42
      }
    }
    await until { flags.hasBegun.load(ordering: .acquiring) }
    task.cancel()
    flags.mayEnd.store(true, ordering: .releasing)
    #expect(try await task.value == 42)
    await thread.end()
  }

  // MARK: - The compiler's messages, cured

  @Test func `a class with a lock may be captured`() {
    final class Visits: Sendable {
      private let count = Mutex(0)

      func start(on loop: Loop) {
        loop.add(Loop.Timer(every: .seconds(1)) { _ in self.count.withLock { $0 += 1 } })
      }
    }

    withVirtualLoop { virtual in
      Visits().start(on: virtual.loop)
      virtual.advance(by: .seconds(3))
      #expect(virtual.loop.statistics.timerCallouts == 3)
    }
  }

  @Test func `a closure returns the new value`() async throws {
    func greet(on loop: Loop) async throws -> [String] {
      let names = ["Ada"]
      return try await loop.call { names + ["Grace"] }
    }

    let thread = try LoopThread(name: "greeter")
    #expect(try await greet(on: thread.loop) == ["Ada", "Grace"])
    await thread.end()
  }

  @Test func `the main loop takes a handler of the main actor`() async {
    await #expect(processExitsWith: .success) {
      @MainActor final class Service {
        private(set) var ticks = 0

        func start() {
          Loop.main.add(Loop.Timer(every: .seconds(1), handler: isolated(to: .shared) { _ in self.ticks += 1 }))
        }
      }

      let ticks = await MainActor.run {
        let service = Service()
        service.start()
        return service.ticks
      }
      precondition(ticks == 0)
    }
  }

  @Test func `clients are greeted on the main actor`() async throws {
    func greetClients(of listener: Listener, on loop: Loop) async throws {
      try await listener.serve(on: loop) { @MainActor connection in try await connection.write("Hi") }
    }

    let thread = try LoopThread(name: "greeter")
    let loop = thread.loop
    let listener = try Listener(at: .loopback())
    let server = Task { try await greetClients(of: listener, on: loop) }
    for _ in 1...2 {
      let client = try await Connection.connected(to: listener.address, on: loop)
      #expect(try await client.readLine() == "Hi")
    }
    server.cancel()
    try await server.value
    await thread.end()
  }

  @Test func `a thread for a scope answers`() async throws {
    func answer() async throws -> Int {
      try await withLoopThread(name: "worker") { thread in try await thread.loop.call { 6 * 7 } }
    }

    #expect(try await answer() == 42)
  }
}

enum Request {
  @TaskLocal static var name = "none"
}

func requestNames(on loop: Loop) async throws -> [String] {
  try await Request.$name.withValue("7") {
    let name = Request.name
    return [
      try await loop.call { Request.name },
      try await loop.call { Request.$name.withValue(name) { Request.name } },
    ]
  }
}

// MARK: - Examples that several tests use

actor Metronome {
  private let loop: Loop
  private(set) var beats = 0

  init(on loop: Loop) { self.loop = loop }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  func start() {
    let timer = Loop.Timer(
      every: .milliseconds(10),
      handler: isolated(to: self) { metronome, tick in
        metronome.beats += 1
        if metronome.beats == 3 { tick.timer.invalidate() }
      })
    loop.add(timer)
  }
}

func countBeats(on loop: Loop) async throws -> Int {
  let metronome = Metronome(on: loop)
  await metronome.start()
  try await loop.clock.sleep(for: .seconds(1))
  return await metronome.beats
}

private func goodbye(to connection: Connection) async {
  func sayGoodbye(to connection: Connection) async {
    connection.deadline = connection.loop.clock.now + .seconds(1)
    await Task { try? await connection.write("bye\n") }.value
  }
  await sayGoodbye(to: connection)
}
