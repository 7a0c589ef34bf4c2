import CLinux
import Glibc
import Rondo
import Synchronization
import Testing

/// Descriptor sources that move between the loops of two threads, with what the kernel and the loops know of them.
@Suite struct MovingDescriptorTests {
  /// Two threads with a loop each, and one trace that says what was told on which.
  private final class TwoThreads: Sendable {
    let a: LoopThread
    let b: LoopThread
    private let trace = Mutex<[String]>([])
    /// Items in the way, so that the same slot means something else in each loop; each drains its own pipe.
    private let innocentPipes = Mutex<[TestPipe]>([])
    private let innocentReads = Tally()
    /// Open until both threads are gone: a loop may be told of what was closed under its source for ever.
    private let opened = Mutex<[any Sendable]>([])

    init() throws {
      a = try LoopThread(name: "a")
      b = try LoopThread(name: "b")
    }

    func note(_ name: String) {
      let here = a.isCurrent ? "a" : b.isCurrent ? "b" : "?"
      trace.withLock { $0.append(here + name) }
    }

    func take() -> String {
      trace.withLock { trace in
        defer { trace = [] }
        return trace.joined(separator: " ")
      }
    }

    /// Has the thread's loop look at its descriptors and serve what is ready, until nothing is.
    func look(_ thread: LoopThread) throws {
      try thread.sync { for _ in 0..<3 { thread.loop.run(for: .zero) } }
    }

    func addInnocents() throws {
      for (thread, count) in [(a, 4), (b, 2)] {
        for _ in 0..<count {
          let pipe = TestPipe()
          let source = try Loop.DescriptorSource(pipe.reader, for: .read, trigger: .edge) { _, _ in
            if pipe.drain() == 1 { self.innocentReads.add() }
          }
          thread.loop.add(source)
          thread.loop.add(Loop.Timer(after: .seconds(3_600)) { _ in })
          innocentPipes.withLock { $0.append(pipe) }
        }
      }
    }

    func pipe() -> TestPipe { keep(TestPipe()) }

    func sockets() -> TestSockets { keep(TestSockets()) }

    private func keep<Descriptors: Sendable>(_ descriptors: Descriptors) -> Descriptors {
      opened.withLock { $0.append(descriptors) }
      return descriptors
    }

    /// Whether each of the innocent items is still told of its descriptor, once.
    func innocentsAreServed() throws -> Bool {
      let pipes = innocentPipes.withLock { $0 }
      let before = innocentReads.count
      for pipe in pipes { pipe.write(1) }
      for thread in [a, b] { try look(thread) }
      return innocentReads.count == before + pipes.count
    }

    func stop() {
      a.stop()
      b.stop()
    }
  }

  /// Runs `body` with two threads whose loops hold other items, and finds those unharmed.
  private func withTwoThreads(_ body: (TwoThreads) throws -> Void) throws {
    let threads = try TwoThreads()
    try threads.addInnocents()
    try body(threads)
    #expect(try threads.innocentsAreServed())
    #expect(threads.take() == "")
    threads.stop()
  }

  /// A source that notes its name, drains its descriptor and does more.
  private func source(
    _ name: String, _ descriptor: CInt, _ threads: TwoThreads, trigger: Loop.DescriptorSource.Trigger = .level,
    order: Int = 0, closesOnInvalidation: Bool = false,
    then more: @escaping @Sendable (Loop.DescriptorSource) -> Void = { _ in }
  ) throws -> Loop.DescriptorSource {
    try Loop.DescriptorSource(
      descriptor, for: .read, trigger: trigger, order: order, closesOnInvalidation: closesOnInvalidation
    ) { source, _ in
      threads.note(name)
      drainDescriptor(source.descriptor)
      more(source)
    }
  }

  @Test(arguments: Loop.DescriptorSource.Trigger.all)
  func `a source that left a loop before that has waited is told by the next one`(
    _ trigger: Loop.DescriptorSource.Trigger
  ) throws {
    try withTwoThreads { threads in
      let pipe = threads.pipe()
      let source = try source("s", pipe.reader, threads, trigger: trigger)
      try threads.a.sync {
        threads.a.loop.add(source)
        threads.a.loop.remove(source)
        #expect(threads.b.loop.add(source))
        pipe.write(1)
        try threads.look(threads.b)
      }
      try threads.look(threads.a)
      #expect(threads.take() == "bs")
      pipe.write(1)
      try threads.look(threads.a)
      try threads.look(threads.b)
      #expect(threads.take() == "bs")
    }
  }

  @Test(arguments: Loop.DescriptorSource.Trigger.all)
  func `a source that moves in its own callout is told by the new loop, and back again`(
    _ trigger: Loop.DescriptorSource.Trigger
  ) throws {
    try withTwoThreads { threads in
      let pipe = threads.pipe()
      let source = try source("s", pipe.reader, threads, trigger: trigger) { source in
        let (here, there) = threads.a.isCurrent ? (threads.a, threads.b) : (threads.b, threads.a)
        here.loop.remove(source)
        if !there.loop.add(source) { threads.note("refused") }
      }
      threads.a.loop.add(source)
      for _ in 0..<2 {
        pipe.write(1)
        try threads.look(threads.a)
        #expect(threads.take() == "as")
        pipe.write(1)
        try threads.look(threads.b)
        #expect(threads.take() == "bs")
      }
    }
  }

  @Test func `a source that changes its interest and moves in its own callout is told what it asked for`() throws {
    try withTwoThreads { threads in
      let pipe = threads.pipe()
      let source = try source("s", pipe.reader, threads) { source in
        source.disable(.read)
        guard threads.a.isCurrent else { return }
        threads.a.loop.remove(source)
        if !threads.b.loop.add(source) { threads.note("refused") }
      }
      threads.a.loop.add(source)
      pipe.write(1)
      try threads.look(threads.a)
      pipe.write(1)
      try threads.look(threads.b)
      #expect(threads.take() == "as")
      source.enable(.read)
      try threads.look(threads.b)
      #expect(threads.take() == "bs")
      try threads.look(threads.a)
      #expect(threads.take() == "")
    }
  }

  @Test func `a source with a change of interest that its loop has not heard of moves with it`() throws {
    try withTwoThreads { threads in
      let pipe = threads.pipe()
      let source = try source("s", pipe.reader, threads)
      threads.a.loop.add(source)
      try threads.look(threads.a)
      try threads.a.sync {
        // From another thread, so that the change is in the mail of the loop it is about to leave.
        TestThread { source.disable(.read) }.join()
        threads.a.loop.remove(source)
      }
      #expect(threads.b.loop.add(source))
      pipe.write(1)
      try threads.look(threads.b)
      try threads.look(threads.a)
      #expect(threads.take() == "")
      try threads.b.sync {
        TestThread { source.enable(.read) }.join()
        threads.b.loop.remove(source)
      }
      #expect(threads.a.loop.add(source))
      try threads.look(threads.b)
      try threads.look(threads.a)
      #expect(threads.take() == "as")
    }
  }

  @Test func `a source whose interest was changed on the loop's thread before it left is told as it asks`() throws {
    try withTwoThreads { threads in
      let sockets = threads.sockets()
      let source = try Loop.DescriptorSource(sockets.near, for: .read) { source, readiness in
        threads.note("\(readiness)")
        source.disable(readiness)
      }
      threads.a.loop.add(source)
      try threads.look(threads.a)
      try threads.a.sync {
        source.disable(.read)
        source.enable(.write)
        threads.a.loop.remove(source)
      }
      #expect(threads.b.loop.add(source))
      sockets.send()
      try threads.look(threads.a)
      try threads.look(threads.b)
      #expect(threads.take() == "bwrite")
      source.enable(.read)
      try threads.look(threads.b)
      #expect(threads.take() == "bread")
    }
  }

  @Test func `an edge that was carried over is told once, by the loop its source has moved to`() throws {
    try withTwoThreads { threads in
      let (first, second) = (threads.pipe(), threads.pipe())
      let early = try source("1", first.reader, threads, trigger: .edge, order: -1)
      let late = try source("2", second.reader, threads, trigger: .edge)
      for source in [early, late] { threads.a.loop.add(source) }
      try threads.look(threads.a)
      try threads.a.sync {
        first.write(1)
        second.write(1)
        threads.a.loop.run(for: .seconds(60), returnAfterSourceHandled: true)
        threads.a.loop.remove(late)
      }
      #expect(threads.take() == "a1")
      #expect(threads.b.loop.add(late))
      try threads.look(threads.b)
      try threads.look(threads.a)
      #expect(threads.take() == "b2")
    }
  }

  @Test func `an edge is carried again for a source that left with one and came back`() throws {
    try withTwoThreads { threads in
      let (first, second) = (threads.pipe(), threads.pipe())
      let early = try source("1", first.reader, threads, trigger: .edge, order: -1)
      let late = try source("2", second.reader, threads, trigger: .edge)
      try threads.a.sync {
        for source in [early, late] { threads.a.loop.add(source) }
        for _ in 0..<3 {
          first.write(1)
          second.write(1)
          threads.a.loop.run(for: .seconds(60), returnAfterSourceHandled: true)
          #expect(threads.take() == "a1")
          threads.a.loop.remove(late)
          threads.a.loop.run(for: .zero)
          threads.a.loop.add(late)
          threads.a.loop.run(for: .seconds(60), returnAfterSourceHandled: true)
          threads.a.loop.run(for: .zero)
          #expect(threads.take() == "a2")
        }
      }
    }
  }

  @Test func `of two sources that share a descriptor one moves, and both are told`() throws {
    try withTwoThreads { threads in
      let pipe = threads.pipe()
      let sources = try ["1", "2"].map { name in
        try Loop.DescriptorSource(pipe.reader, for: .read) { source, _ in
          threads.note(name)
          source.disable(.read)
        }
      }
      for source in sources { threads.a.loop.add(source) }
      try threads.look(threads.a)
      try threads.a.sync { threads.a.loop.remove(sources[0]) }
      #expect(threads.b.loop.add(sources[0]))
      pipe.write(1)
      for _ in 0..<2 {
        try threads.look(threads.b)
        try threads.look(threads.a)
        // Each on its own thread, whichever is first.
        #expect(Set(threads.take().split(separator: " ")) == ["a2", "b1"])
        for source in sources { source.enable(.read) }
      }
      for source in sources { source.disable(.read) }
      for thread in [threads.b, threads.a] { try threads.look(thread) }
      _ = threads.take()
    }
  }

  @Test(arguments: [false, true])
  func `a source that closes its descriptor is closed by the loop it has moved to, once`(_ hasWaited: Bool) throws {
    try withTwoThreads { threads in
      let sockets = TestSockets()
      _ = fcntl(sockets.near, F_SETFL, O_NONBLOCK)
      let source = try source("s", duplicate(sockets.near), threads, closesOnInvalidation: true)
      try threads.a.sync {
        threads.a.loop.add(source)
        if hasWaited { threads.a.loop.run(for: .zero) }
        threads.a.loop.remove(source)
      }
      #expect(threads.b.loop.add(source))
      sockets.send()
      try threads.look(threads.b)
      #expect(threads.take() == "bs")
      #expect(fcntl(source.descriptor, F_GETFD) >= 0)
      let identity = try #require(self.identity(of: source.descriptor))
      try threads.b.sync { source.invalidate() }
      // The number may stand for another test's file by now.
      #expect(self.identity(of: source.descriptor) != identity)
    }
  }

  private func identity(of descriptor: CInt) -> UInt64? {
    var identity = rondo_identity()
    return unsafe rondo_identify(descriptor, &identity) == 0 ? identity.inode : nil
  }
}
