import Glibc
import Rondo
import Testing

/// The permanent thread: from start to stop, and every call into it.
@Suite struct LoopThreadTests {
  private enum Refusal: Error, Equatable { case tooLarge(Int) }

  // MARK: - Beginning

  @Test func `it runs what it is given, in order, on one thread that is not the caller's`() throws {
    let thread = try LoopThread(name: "worker")
    let seen = Later<[(Int, pthread_t)]>([])
    for number in 0..<1000 { thread.execute { seen.value.append((number, pthread_self())) } }
    thread.stop()
    #expect(seen.value.map(\.0) == Array(0..<1000))
    #expect(Set(seen.value.map(\.1)).count == 1)
    #expect(seen.value[0].1 != pthread_self())
  }

  @Test func `its loop is the thread's current loop`() throws {
    let thread = try LoopThread()
    let loop = try thread.sync { Loop.current }
    #expect(loop === thread.loop)
    #expect(try thread.sync { thread.isCurrent })
    #expect(!thread.isCurrent)
    thread.stop()
  }

  @Test func `the kernel shows as much of its name as it keeps, in whole characters`() throws {
    let names = ["io", "fifteen bytes!!", "one hundred and one", "neunzehn Bööööte", ""]
    let shown = try names.map { name in
      let thread = try LoopThread(name: name)
      #expect(thread.name == name)
      defer { thread.stop() }
      return try thread.sync { ownThreadName() }
    }
    #expect(shown == ["io", "fifteen bytes!!", "one hundred and", "neunzehn Böö", ""])
  }

  @Test func `a stack no thread can have is an error that says so`() {
    #expect(throws: LoopThread.StartError.stackSize(1)) { try LoopThread(stackSize: 1) }
    #expect(throws: LoopThread.StartError.stackSize(-1)) { try LoopThread(stackSize: -1) }
    #expect("\(LoopThread.StartError.stackSize(1))" == "a thread cannot have a stack of 1 bytes")
  }

  @Test func `a thread the system cannot start is an error, and its loop is gone`() {
    do {
      _ = try LoopThread(stackSize: 1 << 60)
      Issue.record("a stack of an exabyte was had")
    } catch .noThread(let errno) {
      #expect(errno == EAGAIN || errno == ENOMEM)
    } catch {
      Issue.record("\(error)")
    }
  }

  @Test func `a stack of the size asked for holds that much`() throws {
    let thread = try LoopThread(stackSize: 64 << 20)
    // Forty megabytes: more than the usual eight.
    let depth = try thread.sync { recurse(10_000) }
    #expect(depth == 10_000)
    thread.stop()
  }

  @Test func `it stays with nothing to do, through stops of its runs, until it is stopped itself`() throws {
    let thread = try LoopThread()
    for _ in 0..<3 {
      thread.execute { Loop.current.stop() }
      #expect(try thread.sync { 1 } == 1)
      thread.loop.requestStop()
      #expect(try thread.sync { 2 } == 2)
    }
    #expect(!thread.hasEnded)
    thread.stop()
    #expect(thread.hasEnded)
  }

  // MARK: - Calls

  @Test func `sync brings the result, or the error the body threw`() throws {
    let thread = try LoopThread()
    var local = 0
    let sum = try thread.sync {
      local = 20
      return local + 1
    }
    #expect(sum == 21 && local == 20)
    do {
      try thread.sync { () throws(Refusal) in throw .tooLarge(7) }
      Issue.record("the body's error was lost")
    } catch .body(let refusal) {
      #expect(refusal == .tooLarge(7))
    }
    thread.stop()
  }

  @Test func `sync on the thread itself runs at once, before what was posted`() throws {
    let thread = try LoopThread()
    let order = try thread.sync {
      let order = Later<[String]>([])
      thread.execute { order.value.append("posted") }
      try? thread.sync { order.value.append("at once") }
      return order
    }
    thread.stop()
    #expect(order.value == ["at once", "posted"])
  }

  @Test func `async brings the result or the error`() async throws {
    let thread = try LoopThread()
    #expect(try await thread.async { thread.isCurrent })
    do {
      _ = try await thread.async { () throws(Refusal) -> Int in throw .tooLarge(3) }
      Issue.record("the body's error was lost")
    } catch .body(let refusal) {
      #expect(refusal == .tooLarge(3))
    } catch {
      Issue.record("the body was not run: \(error)")
    }
    await thread.end()
    #expect(thread.hasEnded)
  }

  @Test func `a block for another mode waits until a run is in that mode`() throws {
    let thread = try LoopThread()
    let order = Later<[String]>([])
    let done = Handover<Bool>()
    thread.execute(in: .eventTracking) { order.value.append("tracking") }
    thread.execute { order.value.append("default") }
    let tracking = Loop.Timer(after: .zero) { _ in
      Loop.current.add(Loop.Source {}, to: .eventTracking)
      Loop.current.run(in: .eventTracking, for: .zero)
      Loop.current.perform { done.put(true) }
    }
    try thread.sync { _ = Loop.current.add(tracking) }
    _ = done.take()
    thread.stop()
    #expect(order.value == ["default", "tracking"])
  }

  // MARK: - The end

  @Test func `draining runs everything accepted, dropping nothing but what comes later`() throws {
    let thread = try LoopThread()
    let ran = Tally()
    let gate = Handover<Bool>()
    thread.execute { _ = gate.take() }
    for _ in 0..<100 { #expect(thread.execute { ran.add() }) }
    let stopper = TestThread { thread.stop(.drain) }
    while thread.execute({ ran.add() }) { yieldThread() }
    let before = ran.count
    gate.put(true)
    stopper.join()
    #expect(before == 0)
    #expect(ran.count >= 100)
    #expect(!thread.execute { ran.add() })
  }

  @Test func `dropping finishes the block under way, and no other begins`() throws {
    let thread = try LoopThread()
    let gate = Handover<Bool>()
    let begun = Handover<Bool>()
    let ran = Tally()
    let living = Tally()
    final class Witness: Sendable {
      let living: Tally
      init(_ living: Tally) { self.living = living }
      deinit { living.add() }
    }
    thread.execute {
      begun.put(true)
      _ = gate.take()
      ran.add()
    }
    for _ in 0..<100 {
      let witness = Witness(living)
      thread.execute {
        _ = witness
        ran.add()
      }
    }
    _ = begun.take()
    let stopper = TestThread { thread.stop(.drop) }
    while thread.execute({}) { yieldThread() }
    gate.put(true)
    stopper.join()
    #expect(ran.count == 1)
    #expect(living.count == 100)
  }

  @Test func `dropping cuts a drain short`() throws {
    let thread = try LoopThread()
    let ran = Tally()
    thread.execute {
      thread.stop(.drain)
      thread.stop(.drop)
    }
    thread.execute { ran.add() }
    thread.stop()
    #expect(ran.count == 0)
  }

  @Test func `a block that a drained block posts is refused`() throws {
    let thread = try LoopThread()
    let answers = Later<[Bool]>([])
    let gate = Handover<Bool>()
    thread.execute { _ = gate.take() }
    thread.execute { answers.value.append(thread.execute { answers.value.append(true) }) }
    let stopper = TestThread { thread.stop(.drain) }
    while thread.execute({}) { yieldThread() }
    gate.put(true)
    stopper.join()
    #expect(answers.value == [false])
  }

  @Test func `stop on its own thread does not wait, and what was accepted is still run`() throws {
    let thread = try LoopThread()
    let order = Later<[String]>([])
    thread.execute {
      thread.stop()
      order.value.append("stopped")
    }
    let isAccepted = thread.execute { order.value.append("later") }
    thread.stop()
    #expect(order.value == (isAccepted ? ["stopped", "later"] : ["stopped"]))
    #expect(thread.hasEnded)
  }

  @Test func `stop ends the runs that a block has nested`() throws {
    let thread = try LoopThread()
    let nested = Handover<Loop.RunResult>()
    let begun = Handover<Bool>()
    thread.execute {
      Loop.current.add(Loop.Source {}, to: .eventTracking)
      begun.put(true)
      nested.put(Loop.current.run(in: .eventTracking))
    }
    _ = begun.take()
    thread.stop(.drop)
    #expect(nested.take() == .stopped)
  }

  @Test func `a call to a thread that has ended is an error, not a wait`() async throws {
    let thread = try LoopThread()
    await thread.end()
    #expect(throws: Loop.CallError<Never>.self) { try callSync(thread) }
    await #expect(throws: Loop.CallError<Never>.self) { try await thread.async { 1 } }
    await thread.end()
  }

  @Test func `calls under way when the thread is stopped are answered or fail`() throws {
    let thread = try LoopThread()
    let gate = Handover<Bool>()
    let begun = Handover<Bool>()
    thread.execute {
      begun.put(true)
      _ = gate.take()
    }
    _ = begun.take()
    let callers = (0..<4).map { _ in TestThread { (try? thread.sync { 1 }) == nil } }
    let stopper = TestThread { thread.stop(.drop) }
    while thread.execute({}) { yieldThread() }
    gate.put(true)
    stopper.join()
    #expect(callers.map { $0.join() } == [true, true, true, true])
  }

  @Test func `the last reference may go inside one of its own blocks`() throws {
    let ended = Handover<Bool>()
    let box = Later<LoopThread>()
    box.value = try LoopThread()
    let loop = box.value.loop
    loop.add(Loop.Source(cancel: { _, _ in ended.put(true) }) {})
    let gate = Handover<Bool>()
    loop.perform {
      _ = gate.take()
      box.value = nil
    }
    gate.put(true)
    #expect(ended.take())
    #expect(box.value == nil)
  }

  @Test func `letting go of it runs what it was given, and ends the thread`() throws {
    let ran = Handover<Bool>()
    let ended = Handover<Bool>()
    do {
      let thread = try LoopThread()
      thread.loop.add(Loop.Source(cancel: { _, _ in ended.put(true) }) {})
      thread.execute { ran.put(true) }
    }
    #expect(ran.take())
    #expect(ended.take())
  }

  @Test func `its loop ends with it: items become invalid, posts are refused`() throws {
    let thread = try LoopThread()
    let timer = Loop.Timer(every: .seconds(3600)) { _ in }
    thread.loop.add(timer)
    thread.stop()
    #expect(!timer.isValid)
    #expect(!thread.loop.perform {})
    #expect(!thread.loop.add(Loop.Source {}))
  }

  @Test func `a closure that dies with the loop cannot post to it any more`() throws {
    let answer = Handover<Bool>()
    final class Poster: Sendable {
      let answer: Handover<Bool>
      init(_ answer: Handover<Bool>) { self.answer = answer }
      deinit { answer.put(Loop.current.perform {}) }
    }
    let thread = try LoopThread()
    try thread.sync { _ = thread.execute(in: "never run") { [poster = Poster(answer)] in _ = poster } }
    thread.stop()
    #expect(!answer.take())
  }
}

/// The blocking call, from a test that is async for other reasons.
private func callSync(_ thread: LoopThread) throws {
  _ = try thread.sync { 1 }
}

/// How deep it went; each level takes 4 KiB of stack.
@inline(never)
private func recurse(_ depth: Int) -> Int {
  unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { bytes in
    unsafe bytes.storeBytes(of: depth, as: Int.self)
    return unsafe depth == 0 ? 0 : recurse(depth - 1) + 1 + bytes.load(as: Int.self) - depth
  }
}

/// The calling thread's name, as the kernel has it.
private func ownThreadName() -> String {
  let file = unsafe open("/proc/thread-self/comm", O_RDONLY)
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: 64)
  let count = unsafe read(file, &bytes, 64)
  return String(decoding: bytes[..<max(0, count - 1)], as: UTF8.self)
}
