import CTests
import Glibc
import Rondo
import RondoGuests
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

/// Libraries on libevent in a mode of a loop.
@Suite struct EventBaseTests {
  @Test func `a library's timeout ends the sleep and is called back, not early`() {
    onLoopThread { stage in
      let clock = SuspendingClock()
      let start = clock.now
      stage.library(in: .default) { base in
        unsafe stage.timeout(base, 30, "foreign") { stage.loop.stop() }
        unsafe stage.timeout(base, 10, "sooner")
      }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "sooner foreign")
      // libevent rounds down to microseconds.
      #expect(clock.now >= start.advanced(by: .microseconds(29_990)))
      #expect(stage.loop.statistics.turns < 30)
    }
  }

  @Test func `a timeout that a callout of the loop's sets is heard of`() {
    onLoopThread { stage in
      stage.timer("own", after: .milliseconds(5)) { _ in
        stage.library(in: .default) { base in unsafe stage.timeout(base, 5, "foreign") { stage.loop.stop() } }
      }
      stage.library(in: .default) { base in unsafe stage.never(base) }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "own foreign")
    }
  }

  @Test func `runs that only look serve a library's timeouts, too`() {
    onLoopThread { stage in
      var isOver = false
      stage.library(in: .default) { base in unsafe stage.timeout(base, 5, "first") { isOver = true } }
      while !isOver { stage.loop.run(for: .zero) }
      let hasEnded = Mutex(false)
      stage.block("block") {
        stage.library(in: .default) { base in
          unsafe stage.timeout(base, 5, "second") { hasEnded.withLock { $0 = true } }
        }
      }
      while !hasEnded.withLock({ $0 }) { stage.loop.run(for: .zero) }
      #expect(stage.text == "first block second")
    }
  }

  @Test func `a loop that never sleeps hears of timeouts that its callouts set`() {
    onLoopThread { stage in
      let busy = Mutex<Loop.Source?>(nil)
      let count = Mutex(0)
      nonisolated(unsafe) var kept: OpaquePointer?
      stage.library(in: .default) { unsafe kept = $0 }
      let source = Loop.Source {
        let turn = count.withLock { count in
          count += 1
          return count
        }
        if turn == 10 { unsafe stage.timeout(kept!, 5, "foreign") { stage.loop.stop() } }
        busy.withLock { $0 }?.signal()
      }
      stage.own(source)
      stage.loop.add(source)
      busy.withLock { $0 = source }
      source.signal()
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "foreign")
      #expect(stage.loop.statistics.sleeps == 0)
      busy.withLock { $0 = nil }
    }
  }

  @Test func `a library's descriptors are served as callouts of a descriptor source`() {
    onLoopThread { stage in
      let pipe = stage.pipe()
      stage.library(in: .default) { base in
        unsafe stage.reader(base, pipe.reader, "read") {
          stage.note("\(stage.loop.heartbeat.phase)")
          #expect(stage.loop.currentMode == .default)
        }
      }
      pipe.write(3)
      for _ in 0..<10 { stage.loop.run(for: .milliseconds(1)) }
      #expect(stage.text == "read descriptors read descriptors read descriptors")
      #expect(stage.loop.statistics.descriptorCallouts >= 3)
    }
  }

  @Test func `each mode has a base of its own, and serves no other's`() {
    onLoopThread { stage in
      stage.library(in: .default) { base in unsafe stage.timeout(base, 0, "default") }
      stage.library(in: "other") { base in unsafe stage.timeout(base, 0, "other") }
      stage.loop.run(in: "other", for: .milliseconds(20))
      #expect(stage.take() == "other")
      stage.loop.run(for: .milliseconds(20))
      #expect(stage.take() == "default")
    }
  }

  @Test func `a run nested in a callback serves the loop's items, and the base waits for its end`() {
    onLoopThread { stage in
      stage.library(in: .default) { base in
        nonisolated(unsafe) let base = unsafe base
        unsafe stage.timeout(base, 1, "outer") {
          stage.timer("own", after: .milliseconds(20))
          unsafe stage.timeout(base, 5, "later") { stage.loop.stop() }
          let turns = stage.loop.statistics.turns
          #expect(unsafe foreign_enter(base) == -1)
          stage.loop.run(for: .milliseconds(40))
          #expect(stage.loop.statistics.turns - turns < 20)
          stage.note("back")
        }
      }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "outer own back later")
    }
  }

  @Test func `a callback of many that runs the loop keeps the others for afterwards`() {
    onLoopThread { stage in
      stage.library(in: .default) { base in
        for number in CInt(1)...3 {
          unsafe stage.timeout(base, number, "t\(number)") { if number == 1 { stage.loop.run(for: .milliseconds(10)) } }
        }
      }
      // All are due at once, in the order of their dates.
      usleep(10_000)
      stage.loop.run(for: .milliseconds(20))
      #expect(stage.text == "t1 t2 t3")
    }
  }

  @Test func `many of a library's events at once are callouts of the descriptor source, all of them`() {
    onLoopThread { stage in
      var phases: Set<String> = []
      var count = 0
      stage.library(in: .default) { base in
        unsafe stage.never(base)
        for number in CInt(0)..<100 {
          let pipe = stage.pipe()
          let note = {
            phases.insert("\(stage.loop.heartbeat.phase)")
            count += 1
            if count == 200 { stage.loop.stop() }
          }
          unsafe stage.reader(base, pipe.reader, "", then: note)
          unsafe stage.timeout(base, number % 10, "", then: note)
          pipe.write(1)
        }
      }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(count == 200)
      #expect(phases == ["descriptors"])
    }
  }

  @Test func `what a callout of the loop's has libevent call at once is called`() {
    onLoopThread { stage in
      nonisolated(unsafe) var kept: OpaquePointer?
      stage.library(in: .default) { unsafe kept = $0 }
      stage.timer("own", after: .milliseconds(1)) { _ in
        unsafe stage.soon(kept!, "soon") { stage.loop.stop() }
      }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "own soon")
    }
  }

  @Test func `bufferevents talk to each other, beside the loop's own items`() {
    onLoopThread { stage in
      let tick = stage.timer("", every: .microseconds(100))
      stage.library(in: .default) { base in
        let call = unsafe stage.callback("over") { stage.loop.stop() }
        unsafe foreign_talk(base, 1000, callOnce, call)
      }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text.hasSuffix("over"))
      tick.invalidate()
    }
  }

  @Test func `a library's callback that makes itself active again holds up no timer`() {
    onLoopThread { stage in
      let most = 1_000_000
      var calls = 0
      stage.library(in: .default) { base in
        nonisolated(unsafe) let base = unsafe base
        func again() {
          calls += 1
          if calls == 1 { stage.timer("own", after: .zero) { _ in stage.loop.stop() } }
          if calls < most, stage.text.isEmpty { unsafe stage.soon(base, "", then: again) }
        }
        unsafe stage.soon(base, "", then: again)
      }
      let outcome = stage.loop.run(for: .seconds(60))
      #expect(outcome == .stopped)
      // Three times in the first dispatch, and once in the turn that the timer fires in.
      #expect(calls <= 4)
      stage.loop.run(for: .zero)
    }
  }

  @Test func `bufferevents that defer more callbacks than libevent takes at a time hold up no timer`() {
    onLoopThread { stage in
      let pairs = 64
      nonisolated(unsafe) var over = 0
      stage.library(in: .default) { base in
        for _ in 0..<pairs {
          let call = unsafe stage.callback("") {
            unsafe over += 1
            if unsafe over == pairs { stage.loop.stop() }
          }
          unsafe foreign_talk(base, 1000, callOnce, call)
        }
        unsafe stage.soon(base, "") { stage.timer("own", after: .zero) { _ in stage.note("after \(unsafe over)") } }
      }
      let outcome = stage.loop.run(for: .seconds(60))
      #expect(outcome == .stopped)
      #expect(stage.text == "own after 0")
    }
  }

  @Test func `an HTTP server and its client work in the loop`() {
    onLoopThread { stage in
      stage.library(in: .default) { base in
        unsafe foreign_http(
          base,
          { context, status in
            let stage = unsafe Unmanaged<Stage>.fromOpaque(context!).takeUnretainedValue()
            stage.note("\(status)")
            stage.loop.stop()
          }, Unmanaged.passUnretained(stage).toOpaque())
      }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "200")
    }
  }

  @Test func `an embedded loop serves its libraries`() {
    onLoopThread { stage in
      stage.library(in: .default) { base in unsafe stage.timeout(base, 10, "foreign") { stage.loop.stop() } }
      let guest = Loop.Embedding(of: stage.loop)
      var turns = 0
      while guest.turn() != .stopped {
        turns += 1
        #expect(isReadable(guest.descriptor, for: 60_000))
      }
      #expect(stage.text == "foreign")
      #expect(turns < 20)
      guest.end()
    }
  }

  @Test func `a host hears of what is added between two turns of its guest`() {
    onLoopThread { stage in
      let guest = Loop.Embedding(of: stage.loop)
      stage.library(in: .default) { _ in }
      while isReadable(guest.descriptor, for: 0) { guest.turn() }
      stage.library(in: .default) { base in unsafe stage.timeout(base, 10, "foreign") }
      var turns = 0
      while stage.text != "foreign" {
        #expect(isReadable(guest.descriptor, for: 60_000))
        guest.turn()
        turns += 1
      }
      #expect(turns < 20)
      guest.end()
    }
  }

  @Test(.offThePool)
  func `a base needs five descriptors: with fewer there is an error and nothing left of it, and one may be had later`()
    async
  {
    await #expect(processExitsWith: .success) { runOutOfDescriptors() }
  }

  @Test func `the mode is not empty, and a base without events lets the loop sleep`() {
    onLoopThread { stage in
      stage.library(in: .default) { _ in }
      #expect(stage.loop.run(for: .milliseconds(20)) == .timedOut)
      #expect(stage.loop.statistics.sleeps <= 2)
    }
  }

  @Test(.offThePool) func `threads that end free their bases`() async {
    await #expect(processExitsWith: .success) { endThreads() }
  }

  @Test(.offThePool, arguments: [false, true]) func `says on which thread and what kind of loop it belongs`(
    isVirtual: Bool
  ) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [isVirtual] in
      misuse(isVirtual: isVirtual)
    }
    let complaint = isVirtual ? "A loop in virtual time waits for no event base." : "and so do its event bases."
    #expect(result?.complaint.contains(complaint) == true)
  }
}

private func isReadable(_ descriptor: CInt, for milliseconds: CInt) -> Bool {
  var query = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return unsafe poll(&query, 1, milliseconds) == 1
}

/// In a process of its own, where nobody else opens descriptors.
private func endThreads() {
  func count() -> Int { (CInt(0)..<1024).count { fcntl($0, F_GETFD) >= 0 } }
  func use() {
    onLoopThread { stage in
      for mode: Loop.Mode in [.default, "other"] {
        stage.library(in: mode) { base in unsafe stage.never(base) }
      }
      stage.loop.run(for: .milliseconds(1))
    }
  }
  awakenDispatch()
  use()
  let before = count()
  for _ in 0..<20 { use() }
  precondition(count() == before, "\(before) descriptors have become \(count())")
}

/// In a process of its own.
private func runOutOfDescriptors() {
  awakenDispatch()
  let loop = Loop.current
  loop.run(for: .zero)
  var limit = rlimit(rlim_cur: 256, rlim_max: 256)
  precondition(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
  var taken: [CInt] = []
  while case let number = dup(STDIN_FILENO), number >= 0 { taken.append(number) }
  for _ in 0..<5 {
    do {
      try unsafe loop.withEventBase { _ in }
      fatalError("a base without descriptors")
    } catch {
      precondition(error == .noDescriptors(errno: EMFILE), "\(error)")
    }
    close(taken.removeLast())
  }
  do { try unsafe loop.withEventBase { _ in } } catch { fatalError("\(error)") }
  // It has taken exactly those, and the failures before it none.
  precondition(dup(STDIN_FILENO) == -1 && errno == EMFILE)
  for number in taken { close(number) }
}

private func misuse(isVirtual: Bool) {
  if isVirtual {
    withVirtualLoop { virtual in _ = try! unsafe virtual.loop.withEventBase { _ in 0 } }
  } else {
    let loop = Loop.current
    TestThread { _ = try! unsafe loop.withEventBase { _ in 0 } }.join()
  }
}

extension Stage {
  /// Hands a mode's base to `body`.
  @safe fileprivate func library(in mode: Loop.Mode, _ body: (OpaquePointer) -> Void) {
    do { try unsafe loop.withEventBase(in: mode, body) } catch { fatalError("\(error)") }
  }

  /// What `callOnce` calls: notes its name, then does more.
  fileprivate func callback(_ name: String, then more: @escaping () -> Void) -> UnsafeMutableRawPointer {
    unsafe Unmanaged.passRetained(
      Callback {
        if !name.isEmpty { self.note(name) }
        more()
      }
    ).toOpaque()
  }

  /// A timeout of libevent's that notes its name, then does more.
  @discardableResult
  fileprivate func timeout(
    _ base: OpaquePointer, _ milliseconds: CInt, _ name: String, then more: @escaping () -> Void = {}
  ) -> OpaquePointer {
    unsafe foreign_timeout(base, milliseconds, callOnce, callback(name, then: more))
  }

  /// A timeout that never comes, taken back with the stage.
  fileprivate func never(_ base: OpaquePointer) {
    let timeout = unsafe timeout(base, 3_600_000, "never")
    unsafe cancelWithStage(timeout)
  }

  /// Takes back what has not called, or calls again and again.
  private func cancelWithStage(_ call: OpaquePointer) {
    whenFinished { unsafe Unmanaged<Callback>.fromOpaque(foreign_cancel(call)!).release() }
  }

  /// A callback of libevent's that waits for nothing: notes its name, then does more.
  fileprivate func soon(_ base: OpaquePointer, _ name: String, then more: @escaping () -> Void) {
    unsafe foreign_soon(base, callOnce, callback(name, then: more))
  }

  /// A reader of libevent's. It is told of each byte, for as long as the stage lives.
  fileprivate func reader(
    _ base: OpaquePointer, _ descriptor: CInt, _ name: String, then more: @escaping () -> Void
  ) {
    let reader = unsafe foreign_reader(
      base, descriptor, { unsafe Unmanaged<Callback>.fromOpaque($0!).takeUnretainedValue().body() },
      callback(name, then: more))!
    unsafe cancelWithStage(reader)
  }
}

private let callOnce: @convention(c) (UnsafeMutableRawPointer?) -> Void = {
  unsafe Unmanaged<Callback>.fromOpaque($0!).takeRetainedValue().body()
}

/// What libevent calls.
private final class Callback {
  let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
}
