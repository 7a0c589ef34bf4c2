import CLinux
import CRondoInspect
import Foundation
import Rondo
import RondoDaemon
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoInspect

/// Guesses on a stack that the calls in it pass by are left out.
@Suite(.offThePool) struct CallPathTests {
  /// Memory with a direct call to each function before an address; 0 stands for a call of what a register points at.
  private func path(_ calls: [UInt64: UInt64], _ more: [UInt64: UInt64] = [:]) -> CallPath {
    var memory = more
    for (address, function) in calls {
      let call = UInt64(0xE8) << 24 | (function &- address) << 32
      // call *%rax
      memory[address - 8] = function == 0 ? 0xD0FF << 48 : call
    }
    return CallPath { [memory] address, count in (0..<UInt64(count)).compactMap { memory[address + $0 * 8] } }
  }

  private func candidate(_ address: UInt64, in start: UInt64?, isGuess: Bool = true) -> CallPath.Candidate {
    CallPath.Candidate(address: address, start: start, isGuess: isGuess)
  }

  private func kept(_ path: CallPath, _ candidates: [CallPath.Candidate]) -> [UInt64] {
    path.withoutTraces(candidates).map(\.address)
  }

  #if arch(x86_64)
    @Test func `a guess between two that call each other is a trace`() {
      let path = path([0x2010: 0x1000, 0x3010: 0x9000, 0x4010: 0x2000])
      let stack = [
        candidate(0x1010, in: 0x1000, isGuess: false), candidate(0x2010, in: 0x2000), candidate(0x3010, in: 0x3000),
        candidate(0x4010, in: 0x4000, isGuess: false), candidate(0x5010, in: 0x5000, isGuess: false),
      ]
      #expect(kept(path, stack) == [0x1010, 0x2010, 0x4010, 0x5010])
    }

    @Test func `a call through a table of another library leads to what the table says`() {
      // 0x8000: jmp *0x10(%rip), behind which 0x8016 says where to.
      let path = path(
        [0x2010: 0x8000, 0x3010: 0x9000, 0x4010: 0x2000],
        [
          0x8000: 0x10_25FF, 0x8008: 0, 0x8016: 0x1000,
        ])
      let stack = [
        candidate(0x1010, in: 0x1000, isGuess: false), candidate(0x2010, in: 0x2000), candidate(0x3010, in: 0x3000),
        candidate(0x4010, in: 0x4000, isGuess: false),
      ]
      #expect(kept(path, stack) == [0x1010, 0x2010, 0x4010])
    }

    @Test func `a function that calls itself through another one is kept as often as it is under way`() {
      let path = path([0x2010: 0x1000, 0x1020: 0x2000, 0x2011: 0x1000, 0x3010: 0x2000])
      let stack = [
        candidate(0x1010, in: 0x1000, isGuess: false), candidate(0x2010, in: 0x2000), candidate(0x1020, in: 0x1000),
        candidate(0x2011, in: 0x2000), candidate(0x3010, in: 0x3000, isGuess: false),
      ]
      #expect(kept(path, stack) == stack.map(\.address))
    }

    @Test func `a function without a name may be what its neighbour calls`() {
      let path = path([0x2010: 0x1000, 0x3010: 0x2000, 0x3510: 0x9000, 0x4010: 0x3000])
      let stack = [
        candidate(0x1010, in: nil, isGuess: false), candidate(0x2010, in: nil), candidate(0x3010, in: 0x3000),
        candidate(0x3510, in: 0x3500), candidate(0x4010, in: 0x4000, isGuess: false),
      ]
      #expect(kept(path, stack) == [0x1010, 0x2010, 0x3010, 0x4010])
    }

    @Test func `where a function was entered by a jump every guess stays`() {
      let path = path([0x2010: 0x7000, 0x3010: 0x9000, 0x4010: 0x2000])
      let stack = [
        candidate(0x1010, in: 0x1000, isGuess: false), candidate(0x2010, in: 0x2000), candidate(0x3010, in: 0x3000),
        candidate(0x4010, in: 0x4000, isGuess: false),
      ]
      #expect(kept(path, stack) == stack.map(\.address))
    }
  #endif

  @Test func `a call that names no function leads to its neighbour alone`() {
    let path = path([0x2010: 0, 0x3010: 0, 0x4010: 0])
    let stack = [
      candidate(0x1010, in: nil, isGuess: false), candidate(0x2010, in: nil), candidate(0x3010, in: 0x3000),
      candidate(0x4010, in: 0x4000, isGuess: false),
    ]
    #expect(kept(path, stack) == stack.map(\.address))
    #expect(path.withoutTraces([]) == [] && path.withoutTraces([stack[1]]) == [stack[1]])
  }

  @Test func `code that a library exports is named by the library's own table`() throws {
    for (library, symbol) in [("libc.so", "qsort"), ("libswiftCore.so", "swift_retain")] {
      let address = unsafe UInt64(UInt(bitPattern: dlsym(nil, symbol)))
      let frames = Symbolicator.frames(of: [StackWalk.Step(address: address, kind: .place)])
      let frame = try #require(frames.last)
      #expect(frame.function?.contains("<unknown>") == false, "\(frames)")
      #expect(frame.image?.hasPrefix(library) == true, "\(frames)")
    }
  }

  @Test func `a loop that waits is waiting in its wait, and in nothing that is over`() throws {
    let thread = try LoopThread(name: "call path")
    defer { thread.stop() }
    _ = thread.loop.insight
    try thread.sync {}
    for _ in 0..<60_000 where thread.loop.heartbeat.phase != .waiting { usleep(1_000) }
    // On a busy machine a thread may take longer than a sample waits for it.
    var names: [String] = []
    for _ in 0..<300 where names.isEmpty { names = thread.loop.insight.stack.frames.compactMap(\.function) }
    #expect(names.contains { $0.contains("runTurns") }, "\(names)")
    #expect(!names.contains { $0.contains("<unknown>") }, "\(names)")
    #if arch(x86_64)
      // `arm` sets the timer before the wait, and leaves its return address where the wait's frames do not write.
      #expect(!names.contains { $0.contains("KernelWait.arm") }, "\(names)")
    #endif
  }
}

/// What a report calls things.
@Suite(.offThePool) struct ReportedNameTests {
  @Test func `a daemon's items say what they are`() throws {
    try withVirtualLoop { virtual in
      let daemon = try Daemon(
        on: virtual.loop, environment: ["NOTIFY_SOCKET": "@nobody/\(getpid())", "WATCHDOG_USEC": "1000000"])
      virtual.at(.seconds(1)) {
        let names = Set(virtual.loop.inventory.items.compactMap(\.label.text))
        #expect(
          names.isSuperset(of: [
            "daemon: SIGTERM", "daemon: SIGINT", "daemon: SIGHUP", "daemon: stop()", "daemon: NOTIFY_SOCKET",
            "daemon: watchdog",
          ]), "\(names)")
        #expect(!names.contains { $0.contains("RondoDaemon/") }, "\(names)")
        daemon.stop()
      }
      #expect(daemon.run() == .drained)
    }
  }

  /// A turn that a post ended a sleep for.
  private func wakeup(at time: Int64, asleep: Int64) -> Wakeup {
    var turn = rondo_turn()
    (turn.woke, turn.asleep, turn.reason, turn.kind) = (time, asleep, 2, 255)
    return Wakeup(turn) { _ in "" }
  }

  @Test func `a wakeup or two in a moment are no rate`() {
    let (second, millisecond) = (1_000_000_000 as Int64, 1_000_000 as Int64)
    let one = [wakeup(at: 10 * second, asleep: millisecond)]
    #expect(WakeupSummary.wakers(one, now: 10 * second + 1).map(\.perSecond) == [1])
    let two = one + [wakeup(at: 10 * second + millisecond, asleep: millisecond)]
    #expect(WakeupSummary.wakers(two, now: 10 * second + millisecond).map(\.perSecond) == [2])
    // The time since the last one counts.
    #expect(WakeupSummary.wakers(two, now: 20 * second - millisecond).map(\.perSecond) == [0.2])
  }

  @Test func `a rate is over the time from the first sleep until now`() {
    let second = 1_000_000_000 as Int64
    let wakeups = (1...100).map { wakeup(at: Int64($0) * second / 10, asleep: second / 10) }
    #expect(WakeupSummary.wakers(wakeups, now: 10 * second).map(\.perSecond) == [10])
    #expect(WakeupSummary.wakers([], now: second).isEmpty)
  }
}
