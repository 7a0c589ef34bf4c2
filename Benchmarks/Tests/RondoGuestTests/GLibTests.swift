#if RONDO_GLIB
  import CGuests
  import Glibc
  import Rondo
  import RondoGuests
  import Synchronization
  import Testing

  /// GLib's main contexts as guests of a loop.
  @Suite struct GLibTests {
    @Test func `timeouts are called, not early, and the loop sleeps until they are due`() {
      withContext { stage, context in
        let clock = SuspendingClock()
        let start = clock.now
        var due: [Duration] = []
        var count = 0
        context.timeout(20) {
          due.append(clock.now - start)
          stage.note("once")
          return false
        }
        context.timeout(15) {
          stage.note("tick")
          count += 1
          if count == 3 { stage.loop.stop() }
          return count < 3
        }
        #expect(stage.run())
        // What is due at once has one priority, and no order.
        #expect(stage.notes.sorted() == ["once", "tick", "tick", "tick"])
        #expect(due.allSatisfy { $0 >= .milliseconds(20) })
        #expect(stage.loop.statistics.turns < 40)
      }
    }

    @Test func `idle sources run one by one, and a timer of the loop's in between`() {
      withContext { stage, context in
        var count = 0
        stage.loop.add(Loop.Timer(after: .milliseconds(1)) { _ in stage.note("timer") })
        context.idle {
          count += 1
          if count < 100 || stage.text.isEmpty { return true }
          stage.loop.stop()
          return false
        }
        #expect(stage.run())
        #expect(stage.text == "timer" && count >= 100)
      }
    }

    @Test func `priorities keep their order, and a lower one waits as long as a higher one is ready`() {
      withContext { stage, context in
        context.idle(priority: 200) {
          stage.note("low")
          stage.loop.stop()
          return false
        }
        context.idle(priority: 100) {
          stage.note("middle")
          return false
        }
        var left = 3
        context.timeout(0, priority: -100) {
          stage.note("high")
          left -= 1
          return left > 0
        }
        #expect(stage.run())
        #expect(stage.text == "high high high middle low")
      }
    }

    @Test func `a watch is told what poll tells, as long as that is so, and the loop sleeps otherwise`() {
      withContext { stage, context in
        let pipe = stage.pipe()
        context.watch(pipe.reader, POLLIN | POLLHUP) { conditions in
          if conditions & POLLIN != 0 {
            stage.note("in")
            var byte: UInt8 = 0
            _ = read(pipe.reader, &byte, 1)
            return true
          }
          stage.note(conditions == POLLHUP ? "hup" : "\(conditions)")
          stage.loop.stop()
          return false
        }
        stage.loop.add(Loop.Timer(after: .milliseconds(5)) { _ in for _ in 0..<3 { writeByte(pipe.writer) } })
        stage.loop.add(
          Loop.Timer(after: .milliseconds(50)) { _ in
            stage.hasClosed(pipe.writer)
            close(pipe.writer)
          })
        #expect(stage.run())
        #expect(stage.text == "in in in hup")
        #expect(stage.loop.statistics.turns < 40)
      }
    }

    @Test func `a watch of urgent data hears of it`() {
      withContext { stage, context in
        let (server, client) = connectedSockets()
        context.watch(server, POLLPRI) { conditions in
          stage.note(conditions == POLLPRI ? "pri" : "\(conditions)")
          var byte: UInt8 = 0
          recv(server, &byte, 1, CInt(MSG_OOB))
          stage.loop.stop()
          return false
        }
        stage.loop.add(Loop.Timer(after: .milliseconds(5)) { _ in send(client, [1], 1, CInt(MSG_OOB)) })
        #expect(stage.run())
        #expect(stage.text == "pri")
        close(server)
        close(client)
      }
    }

    @Test func `a source that another thread attaches wakes the loop`() {
      withContext { stage, context in
        let count = 200
        let called = Atomic<Int>(0)
        let thread = TestThread {
          // Every other one is attached while the loop sleeps.
          for number in 0..<count {
            while called.load(ordering: .sequentiallyConsistent) < number { sched_yield() }
            if number % 2 == 0 { while !stage.loop.isWaiting { sched_yield() } }
            context.idleFromElsewhere {
              if called.add(1, ordering: .sequentiallyConsistent).newValue == count { stage.loop.stop() }
              return false
            }
          }
        }
        #expect(stage.run())
        thread.join()
        #expect(called.load(ordering: .sequentiallyConsistent) == count)
      }
    }

    @Test func `what is invoked from another thread runs on the loop's`() {
      withContext { stage, context in
        let thread = TestThread {
          context.invoke {
            #expect(stage.loop.isCurrent)
            stage.note("invoked")
            stage.loop.stop()
            return false
          }
        }
        #expect(stage.run())
        thread.join()
        #expect(stage.text == "invoked")
      }
    }

    @Test func `30,000 sources from three threads are all called`() {
      withContext { stage, context in
        let called = Atomic<Int>(0)
        let threads = (0..<3).map { _ in
          TestThread {
            for _ in 0..<10_000 {
              context.invoke {
                if called.add(1, ordering: .sequentiallyConsistent).newValue == 30_000 { stage.loop.stop() }
                return false
              }
            }
          }
        }
        #expect(stage.run())
        for thread in threads { thread.join() }
        #expect(called.load(ordering: .sequentiallyConsistent) == 30_000)
      }
    }

    @Test func `sources that a callout of the loop's attaches count for the sleep that follows`() {
      withContext { stage, context in
        stage.loop.add(
          Loop.Timer(after: .milliseconds(5)) { _ in
            context.timeout(5) {
              stage.note("timeout")
              stage.loop.stop()
              return false
            }
          })
        #expect(stage.run())
        #expect(stage.text == "timeout")
      }
    }

    @Test func `a context that waits for nothing costs no turn`() {
      withContext { stage, context in
        let pipe = stage.pipe()
        context.watch(pipe.reader, POLLIN) { _ in true }
        context.timeout(3_600_000) { true }
        stage.loop.run(for: .milliseconds(20))
        let before = stage.loop.statistics
        stage.loop.run(for: .milliseconds(300))
        #expect(stage.loop.statistics.turns - before.turns <= 1)
        #expect(stage.loop.statistics.sleeps - before.sleeps <= 1)
      }
    }

    @Test func `a run nested in a callback serves the context, but for the source that is called`() {
      withContext { stage, context in
        context.timeout(1) {
          stage.note("outer")
          context.timeout(5) {
            stage.note("inner")
            stage.loop.stop()
            return false
          }
          #expect(stage.run())
          stage.note("back")
          stage.loop.stop()
          return true
        }
        #expect(stage.run())
        #expect(stage.text == "outer inner back")
      }
    }

    @Test func `GLib's own loop, run in a callout of ours, serves the context`() {
      withContext { stage, context in
        var isOver = false
        stage.loop.perform {
          context.timeout(5) {
            isOver = true
            return false
          }
          while !isOver { guest_glib_iterate(context.pointer) }
          stage.note("over")
          stage.loop.stop()
        }
        #expect(stage.run())
        #expect(stage.text == "over")
      }
    }

    @Test func `modes isolate, and two contexts of one loop do not disturb each other`() throws {
      try withContext { stage, context in
        let other = GLibContext(stage)
        stage.loop.add(try .glib(other.opaque), to: "other")
        context.idle {
          stage.note("here")
          return false
        }
        other.idle {
          stage.note("there")
          return false
        }
        stage.loop.run(in: "other", for: .milliseconds(20))
        #expect(stage.text == "there")
        stage.loop.run(for: .milliseconds(20))
        #expect(stage.text == "there here")
      }
    }

    @Test func `a number that stands for another file by now is waited for`() {
      withContext { stage, context in
        let (first, second) = (stage.pipe(), stage.pipe())
        // The old file stays open under another number, and ready for ever.
        let kept = dup(first.reader)
        context.watch(first.reader, POLLIN) { _ in
          stage.note("ready")
          _ = drain(first.reader)
          stage.loop.stop()
          return true
        }
        stage.loop.run(for: .milliseconds(5))
        dup2(second.reader, first.reader)
        writeByte(first.writer)
        let before = stage.loop.statistics.turns
        stage.loop.run(for: .milliseconds(50))
        #expect(stage.text == "" && stage.loop.statistics.turns - before < 10)
        writeByte(second.writer)
        #expect(stage.run())
        #expect(stage.text == "ready")
        close(kept)
      }
    }

    @Test func `a regular file is always ready, a closed number is told`() {
      withContext { stage, context in
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        var reads = 0
        context.watch(file, POLLIN) { _ in
          reads += 1
          if reads == 3 { stage.loop.stop() }
          return reads < 3
        }
        #expect(stage.run())
        #expect(reads == 3)
        // A number that nobody gets by chance.
        let number: CInt = 900
        dup2(file, number)
        context.watch(number, POLLIN) { conditions in
          stage.note(conditions == POLLNVAL ? "closed" : "\(conditions)")
          return false
        }
        close(number)
        let before = stage.loop.statistics.turns
        stage.loop.run(for: .milliseconds(50))
        #expect(stage.text == "closed" && stage.loop.statistics.turns - before < 10)
        close(file)
      }
    }

    @Test func `many descriptors at once are all served`() {
      withContext { stage, context in
        var served: Set<Int> = []
        for number in 0..<100 {
          let pipe = stage.pipe()
          context.watch(pipe.reader, POLLIN) { _ in
            _ = drain(pipe.reader)
            served.insert(number)
            if served.count == 100 { stage.loop.stop() }
            return false
          }
          writeByte(pipe.writer)
        }
        #expect(stage.run())
      }
    }

    @Test func `an invalidated guest is not served, and gives its context back`() throws {
      try withContext { stage, context in
        let other = GLibContext(stage)
        do {
          let guest = try Loop.GuestLoop.glib(other.opaque)
          stage.loop.add(guest)
          other.timeout(1) {
            stage.note("never again")
            guest.invalidate()
            return true
          }
          stage.loop.add(Loop.Timer(after: .milliseconds(20)) { _ in stage.loop.stop() })
          #expect(stage.run())
        }
        #expect(stage.text == "never again")
        TestThread {
          #expect(guest_glib_acquire(other.pointer) == 1)
          guest_glib_release(other.pointer)
        }.join()
        _ = context
      }
    }

    @Test func `a thread that ends gives back the contexts that its loop has as guests`() {
      let context = UInt(bitPattern: guest_glib_new())
      var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: context)! }
      TestThread {
        do {
          Loop.current.add(try .glib(OpaquePointer(bitPattern: context)), to: .common)
          Loop.current.run(for: .milliseconds(1))
        } catch {
          Issue.record(error)
        }
      }.join()
      // It is told before the loop has ended.
      var isFree = false
      for _ in 0..<6000 where !isFree {
        isFree = guest_glib_acquire(pointer) == 1
        if !isFree { usleep(10_000) }
      }
      #expect(isFree)
      if isFree { guest_glib_release(pointer) }
      guest_glib_free(pointer)
    }

    @Test func `guests that come and go leave no descriptors`() async {
      await #expect(processExitsWith: .success) { comeAndGo() }
    }

    @Test func `without a descriptor for it there is an error, and nothing left of it`() async {
      await #expect(processExitsWith: .success) { runOutOfDescriptors() }
    }

    @Test func `a context that another thread owns is no guest`() {
      withContext { stage, context in
        TestThread {
          #expect(throws: Loop.GuestLoop.GLibError.ownedByAnotherThread) {
            try Loop.GuestLoop.glib(OpaquePointer(context.pointer))
          }
        }.join()
      }
    }
  }

  /// In a process of its own.
  private func runOutOfDescriptors() {
    Loop.current.run(for: .zero)
    let context = UInt(bitPattern: guest_glib_new())
    var limit = rlimit(rlim_cur: 256, rlim_max: 256)
    precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    var taken: [CInt] = []
    while case let number = dup(STDIN_FILENO), number >= 0 { taken.append(number) }
    do {
      _ = try Loop.GuestLoop.glib(OpaquePointer(bitPattern: context))
      fatalError("a guest without a descriptor")
    } catch {
      precondition(error == .noDescriptor(errno: EMFILE), "\(error)")
    }
    for number in taken { close(number) }
    // It has not kept the context.
    TestThread { precondition(guest_glib_acquire(UnsafeMutableRawPointer(bitPattern: context)) == 1) }.join()
  }

  /// Runs `body` with a context that the loop of a new thread has as a guest in its default mode.
  private func withContext(_ body: @escaping @Sendable (Stage, GLibContext) throws -> Void) rethrows {
    onLoopThread { stage in
      let context = GLibContext(stage)
      do {
        let guest = try Loop.GuestLoop.glib(context.opaque)
        stage.loop.add(guest)
        try body(stage, context)
        guest.invalidate()
        context.destroy()
      } catch {
        Issue.record(error)
      }
    }
  }

  /// A context of its own, and its sources.
  private final class GLibContext: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
    var opaque: OpaquePointer { OpaquePointer(pointer) }
    private unowned let stage: Stage
    private var sources: [UnsafeMutableRawPointer] = []
    private var isDestroyed = false

    init(_ stage: Stage) {
      self.stage = stage
      pointer = guest_glib_new()
    }

    func timeout(_ milliseconds: CInt, priority: CInt = 0, _ body: @escaping () -> Bool) {
      sources.append(guest_glib_timeout(pointer, milliseconds, priority, callAgain, stage.callback(body)))
    }

    func idle(priority: CInt = 200, _ body: @escaping () -> Bool) {
      sources.append(guest_glib_idle(pointer, priority, callAgain, stage.callback(body)))
    }

    func watch(_ descriptor: CInt, _ conditions: CInt, _ body: @escaping (CInt) -> Bool) {
      watches.append(Watch(body))
      let watch = Unmanaged.passUnretained(watches.last!).toOpaque()
      sources.append(
        guest_glib_watch(
          pointer, descriptor, conditions, 0,
          { Unmanaged<Watch>.fromOpaque($0!).takeUnretainedValue().body($1) ? 1 : 0 }, watch))
    }

    private var watches: [Watch] = []
    private final class Watch {
      let body: (CInt) -> Bool
      init(_ body: @escaping (CInt) -> Bool) { self.body = body }
    }

    /// From any thread.
    func idleFromElsewhere(_ body: @escaping () -> Bool) {
      let source = guest_glib_idle(pointer, 0, callAgain, keep(body))
      foreignSources.withLock { $0.append(UInt(bitPattern: source)) }
    }

    private let foreignSources = Mutex<[UInt]>([])

    /// From any thread.
    func invoke(_ body: @escaping () -> Bool) {
      guest_glib_invoke(pointer, callAgain, keep(body))
    }

    /// Until the context is destroyed.
    private func keep(_ body: @escaping () -> Bool) -> UnsafeMutableRawPointer {
      let callback = Unmanaged.passRetained(Callback(body)).toOpaque()
      foreignCallbacks.withLock { $0.append(UInt(bitPattern: callback)) }
      return callback
    }

    private let foreignCallbacks = Mutex<[UInt]>([])

    func destroy() {
      if isDestroyed { return }
      isDestroyed = true
      for source in sources { guest_glib_destroy(source) }
      foreignSources.withLock { for source in $0 { guest_glib_destroy(UnsafeMutableRawPointer(bitPattern: source)) } }
      guest_glib_free(pointer)
      watches = []
      foreignCallbacks.withLock { callbacks in
        for callback in callbacks {
          Unmanaged<Callback>.fromOpaque(UnsafeRawPointer(bitPattern: callback)!).release()
        }
      }
    }

    deinit { destroy() }
  }

  private func connectedSockets() -> (server: CInt, client: CInt) {
    let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        precondition(bind(listener, $0, size) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &size) == 0)
        precondition(connect(client, $0, size) == 0)
      }
    }
    let server = accept(listener, nil, nil)
    close(listener)
    return (server, client)
  }

  /// In a process of its own.
  private func comeAndGo() {
    func count() -> Int { (CInt(0)..<1024).count { fcntl($0, F_GETFD) >= 0 } }
    let loop = Loop.current
    let context = OpaquePointer(guest_glib_new())
    loop.run(for: .zero)
    var before = 0
    for number in 0..<20 {
      do {
        let guest = try Loop.GuestLoop.glib(context)
        loop.add(guest)
        loop.run(for: .milliseconds(1))
        if number % 2 == 0 { guest.invalidate() } else { loop.remove(guest) }
      } catch {
        fatalError("\(error)")
      }
      if number == 0 { before = count() }
    }
    // A guest that leaves one leaves 19. Dispatch may open a few of its own at any time.
    precondition(count() < before + 19, "\(before) descriptors have become \(count())")
  }
#endif
