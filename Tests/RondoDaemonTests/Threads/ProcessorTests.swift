import Glibc
import Rondo
import RondoTestSupport
import Testing

@testable import RondoDaemon

/// On which processors loops' threads run.
@Suite struct ProcessorTests {
  // MARK: - The choice

  /// Processors by their cores and caches.
  private func machine(cores: [Int], caches: [Int], loads: [Int: Int] = [:]) -> ProcessorChoice {
    ProcessorChoice(
      processors: cores.indices.map { number in
        .init(number: number, core: cores[number], cache: caches[number], load: loads[number] ?? 0)
      })
  }

  @Test func `two threads get two cores, not two processors of one`() {
    // As Linux numbers most machines, and as it numbers many virtual ones.
    #expect(machine(cores: [0, 1, 0, 1], caches: [0, 0, 0, 0]).choose(2) == [0, 1])
    #expect(machine(cores: [0, 0, 2, 2], caches: [0, 0, 0, 0]).choose(2) == [0, 2])
  }

  @Test func `threads are chosen below one cache if it has room for them`() {
    let machine = machine(cores: [0, 1, 2, 3], caches: [0, 1, 1, 0])
    #expect(machine.choose(2) == [0, 3])
    #expect(machine.choose(3) == [0, 1, 2])
  }

  @Test func `a second pair gets other cores than the first`() {
    var machine = machine(cores: [0, 1, 2, 3], caches: [0, 0, 2, 2])
    for number in machine.choose(2) { machine.add(number) }
    #expect(machine.choose(2) == [2, 3])
    for number in machine.choose(2) { machine.add(number) }
    #expect(machine.choose(2) == [0, 1])
  }

  @Test func `a taken core is avoided as a taken processor is`() {
    #expect(machine(cores: [0, 0, 2, 2], caches: [0, 0, 0, 0], loads: [0: 1]).choose(1) == [2])
  }

  @Test func `each processor is used once before one is used twice`() {
    #expect(machine(cores: [0, 0, 2, 2], caches: [0, 0, 0, 0]).choose(6) == [0, 2, 1, 3, 0, 2])
    #expect(machine(cores: [0, 1], caches: [0, 0], loads: [0: 5]).choose(3) == [1, 0, 1])
    #expect(machine(cores: [], caches: []).choose(1) == [])
  }

  // MARK: - Threads

  /// Runs `body` with the loops of threads that live, and ends them.
  private func withLoops(_ count: Int, _ body: ([Loop]) throws -> Void) throws {
    let threads = try (0..<count).map { _ in try LoopThread(name: "placed") }
    defer { for thread in threads { thread.stop() } }
    try body(threads.map(\.loop))
  }

  @Test func `a loop's thread is kept on the processors that are set, and the calling thread is not`() throws {
    let usable = usableProcessors()
    try withLoops(1) { (loops) throws in
      #expect(try loops[0].processors() == Set(usable))
      // One that no machine has changes nothing.
      try loops[0].setProcessors([usable.last!, 8_191])
      #expect(try loops[0].processors() == [usable.last!])
      try loops[0].setProcessors(Set(usable))
      #expect(try loops[0].processors() == Set(usable))
    }
    #expect(usableProcessors() == usable)
  }

  @Test func `processors of which the process has none are refused by their numbers`() throws {
    try withLoops(1) { (loops) throws in
      for processors: Set<Int> in [[], [8_191], [-1, 100_000]] {
        let error = #expect(throws: SchedulingError.noProcessor(of: processors)) {
          try loops[0].setProcessors(processors)
        }
        let numbers = processors.sorted().map(String.init).joined(separator: ", ")
        #expect("\(error!)".hasSuffix(numbers.isEmpty ? "no processor was named for the thread" : numbers))
      }
      #expect(try loops[0].processors() == Set(usableProcessors()))
    }
  }

  @Test func `what a filter of system calls refuses is told by its errno, not as a scheduling`() {
    #expect(SchedulingError(-EPERM) == .refused(errno: EPERM))
    #expect(SchedulingError(-EPERM, .realTime()) == .notPermitted(.realTime()))
  }

  @Test func `loops that are spread have a processor each, or keep all if there are too few`() throws {
    let usable = usableProcessors()
    try withLoops(usable.count) { (loops) throws in
      let numbers = try Loop.spread(loops)
      #expect(Set(numbers) == Set(usable))
      for (loop, number) in zip(loops, numbers) { #expect(try loop.processors() == [number]) }
    }
    try withLoops(usable.count + 1) { (loops) throws in
      #expect(try Loop.spread(loops) == [])
      for loop in loops { #expect(try loop.processors() == Set(usable)) }
    }
    #expect(try Loop.spread([]) == [])
  }

  @Test func `a processor that the process has lost is passed over`() throws {
    let usable = usableProcessors()
    try withLoops(usable.count) { (loops) throws in
      #expect(Set(try Spread.keepApart(loops, on: [-1] + usable)) == Set(usable))
      for loop in loops { #expect(try usable.contains(loop.processors().first!) && loop.processors().count == 1) }
      #expect(throws: SchedulingError.noProcessor(of: [-1])) {
        try Spread.keepApart(loops, on: [-1] + usable.dropLast())
      }
    }
  }

  @Test(.offThePool) func `a loop is spread beside those that were, until they end or may run elsewhere`() async {
    await #expect(processExitsWith: .success) {
      inOwnProcess {
        let usable = usableProcessors()
        guard usable.count > 1 else { return }
        let threads = (0..<3).map { _ in try! LoopThread() }
        let loops = threads.map(\.loop)
        // The calling thread has one processor from here on, and the others are still known.
        try! Loop.spread([.current])
        let own = try! Loop.current.processors()
        precondition(own.isDisjoint(with: try! Loop.spread([loops[0]])))
        threads[0].stop()
        precondition(own.isDisjoint(with: try! Loop.spread([loops[1]])))
        try! loops[1].setProcessors(Set(usable))
        precondition(own.isDisjoint(with: try! Loop.spread([loops[2]])))
        try! Loop.current.setProcessors(Set(usable))
        precondition(usableProcessors() == usable)
        for thread in threads { thread.stop() }
      }
    }
  }

  @Test func `a loop whose thread has ended is refused, and takes no place`() throws {
    let thread = try LoopThread()
    thread.stop()
    #expect(throws: SchedulingError.noThread) { try thread.loop.setProcessors([0]) }
    #expect(throws: SchedulingError.noThread) { try thread.loop.processors() }
    #expect(throws: SchedulingError.noThread) { try Loop.spread([thread.loop]) }
  }

  @Test(.offThePool) func `to spread a loop over two processors is a programmer's error`() async {
    await #expect(processExitsWith: .failure) { try Loop.spread([.main, .main]) }
  }
}
