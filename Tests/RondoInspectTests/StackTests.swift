import Glibc
import Rondo
import RondoTestSupport
import Testing

@testable import RondoInspect

@Suite(.offThePool) struct StackTests {
  /// Code from 0x1000 to 0x2000, a stack from 0x8000 to 0x9000.
  private let map = MemoryMap(
    """
    00001000-00002000 r-xp 00000000 08:01 1 /program
    00008000-00009000 rw-p 00000000 00:00 0 [stack]
    """)

  private func walk(_ memory: [UInt64: UInt64]) -> StackWalk {
    StackWalk(map) { address, count in
      guard address >= 0x1000 else { return [] }
      return (0..<UInt64(count)).map { memory[address + $0 * 8] ?? 0 }
    }
  }

  private func addresses(_ steps: [StackWalk.Step]) -> [UInt64] { steps.map(\.address) }

  @Test func `the map says what is code and what is not`() {
    #expect(map.isCode(0x1000) && map.isCode(0x1FFF))
    #expect(!map.isCode(0x2000) && !map.isCode(0x8000) && !map.isCode(0))
    #expect(map.region(of: 0x8800)?.end == 0x9000)
  }

  @Test func `frames are walked by their pointers`() {
    let walk = walk([0x8100: 0x8200, 0x8108: 0x1111, 0x8200: 0x8300, 0x8208: 0x1222, 0x8300: 0, 0x8308: 0x1333])
    #expect(addresses(walk.steps(pc: 0x1050, sp: 0x80F0, fp: 0x8100)) == [0x1050, 0x1111, 0x1222, 0x1333])
  }

  @Test func `a frame that points backwards, to itself or outside ends the walk`() {
    for next in [0x8100, 0x8000, 0x9000, 0x8205, 0x7000_0000] as [UInt64] {
      let walk = walk([0x8100: 0x8200, 0x8108: 0x1111, 0x8200: next, 0x8208: 0x1222])
      #expect(addresses(walk.steps(pc: 0x1050, sp: 0x80F0, fp: 0x8100)) == [0x1050, 0x1111, 0x1222])
    }
  }

  @Test func `a return address that is no code ends the walk`() {
    let walk = walk([0x8100: 0x8200, 0x8108: 0x1111, 0x8200: 0x8300, 0x8208: 0x5555])
    #expect(addresses(walk.steps(pc: 0x1050, sp: 0x80F0, fp: 0x8100)) == [0x1050, 0x1111])
  }

  @Test func `without a frame pointer the stack is searched for frames`() {
    var memory: [UInt64: UInt64] = [0x8050: 0x1234]
    (memory[0x8100], memory[0x8108]) = (0x8200, 0x1111)
    (memory[0x8200], memory[0x8208]) = (0x8300, 0x1222)
    (memory[0x8300], memory[0x8308]) = (0, 0x1333)
    for fp in [nil, 0, 0x1234, 0x7FFF_FFFF_FFFF_FFF8, .max - 7, .max] as [UInt64?] {
      let found = walk(memory).steps(pc: 0x1050, sp: 0x8010, fp: fp).filter { $0.kind != .guess }
      #expect(addresses(found) == [0x1050, 0x1111, 0x1222, 0x1333])
    }
  }

  @Test func `what a library's words of earlier calls skip is found behind its call`() {
    let map = MemoryMap(
      """
      00001000-00002000 r-xp 00000000 08:01 1 /program
      00003000-00004000 r-xp 00000000 08:01 2 /library
      00008000-00009000 rw-p 00000000 00:00 0 [stack]
      """)
    // Two records that lead from the library past the function that called it, whose call is before 0x1099.
    let memory: [UInt64: UInt64] = [
      0x8020: 0x8030, 0x8028: 0x3111, 0x8030: 0x8100, 0x8038: 0x3222, 0x8060: 0x1099, 0x1091: 0xE800_0000,
      0x8100: 0x8200, 0x8108: 0x1111, 0x8200: 0, 0x8208: 0x1222,
    ]
    let walk = StackWalk(map) { address, count in
      (0..<UInt64(count)).map { memory[address + $0 * 8] ?? 0 }
    }
    #expect(addresses(walk.steps(pc: 0x3050, sp: 0x8010, fp: nil)) == [0x3050, 0x3111, 0x3222, 0x1099, 0x1111, 0x1222])
  }

  @Test func `a stack of rubbish ends, and says at least where the thread is`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      var memory: [UInt64: UInt64] = [:]
      for place in stride(from: UInt64(0x8000), to: 0x9000, by: 8) {
        memory[place] = Bool.random(using: &generator) ? .random(in: 0x8000...0x9010) : .random(in: 0x0FF0...0x2010)
      }
      let steps = walk(memory).steps(pc: 0x1050, sp: 0x8000 + .random(in: 0...0xFF0), fp: .random(in: 0...0x9010))
      #expect(steps.first?.address == 0x1050)
      #expect(steps.count <= 1 + 128 + 12)
    }
  }

  @Test func `a stack pointer outside of every stack gives the place alone`() {
    #expect(addresses(walk([:]).steps(pc: 0x1050, sp: 0x7000, fp: 0x8000)) == [0x1050])
    #expect(addresses(walk([:]).steps(pc: 0x1050, sp: 0x1100, fp: 0x1100)) == [0x1050])
  }

  @Test func `what a thread is blocked in is read off the kernel's line`() {
    let (activity, place) = ThreadState.blocked(
      inCall: "1 0xffffffff 0x7f0000000000 0x10 0x0 0x0 0x0 0x7ffe00001000 0x7f1234567890\n")
    #expect(activity == .blocked(call: "write", descriptor: -1, file: nil))
    #expect(place == BlockedPlace(pc: 0x7F12_3456_7890, sp: 0x7FFE_0000_1000))
    #expect(ThreadState.blocked(inCall: "running\n").0 == .running)
    #expect(
      ThreadState.blocked(inCall: "-1 0x7ffe00001000 0x7f1234567890\n").0
        == .blocked(call: nil, descriptor: nil, file: nil))
    #expect(ThreadState.blocked(inCall: "").0 == .running)
  }

  @Test func `a thread's name may have anything in it`() {
    #expect(ThreadState.letter(inStat: "17 (a) b (c)) S 1 2 3") == "S")
    #expect(ThreadState.letter(inStat: "17 (name) R 1") == "R")
    #expect(ThreadState.letter(inStat: "17") == nil)
  }

  @Test func `a blocked signal is read off the kernel's mask`() {
    let status = "Name:\ta\nSigPnd:\t0000000000400000\nSigBlk:\t0000000000400001\nSigIgn:\t0000000000000000\n"
    #expect([1, 2, 23, 24].map { ThreadState.blocks($0, inStatus: status) } == [true, false, true, false])
    #expect(!ThreadState.blocks(23, inStatus: "") && !ThreadState.blocks(23, inStatus: "SigBlk:\n"))
  }

  @Test func `a fork during a sample leaves the child's samples free`() {
    let mayEnd = Flag()
    let main = getpid()
    let sampler = Thread.begin("sampler") {
      while !mayEnd.isRaised { _ = ThreadSampler.sample(of: main) }
    }
    for _ in 0..<20 {
      let child = forkProcess()
      if child == 0 {
        alarm(60)
        // The parent's number is that of no thread of the child.
        _exit(ThreadSampler.sample(of: main).activity == .unknown ? 0 : 1)
      }
      #expect(end(of: child) == .exit(0))
    }
    mayEnd.raise()
    sampler.join()
  }

  @Test func `the stack of a sleeping loop has no guesses`() throws {
    let thread = try LoopThread(name: "sleeper")
    defer { thread.stop() }
    try thread.sync {}
    let number = thread.loop.threadNumber
    var frames: [StackFrame] = []
    // Until a sample finds it in its sleep.
    for _ in 0..<1_000 where !frames.contains(where: { $0.function?.contains("LoopCore.sleep") == true }) {
      frames = ThreadSampler.sample(of: number).stack.frames
    }
    try #require(!frames.isEmpty)
    let guesses = frames.filter(\.isGuess)
    #expect(guesses.isEmpty)
  }

  @Test func `symbols of this process are found`() throws {
    let frame = try #require(Symbolicator.name(of: addressForTheTest()))
    #expect(frame.function?.contains("symbolForTheTest") == true)
  }

  @Test func `a file that another thread unmaps meanwhile does no harm`() async {
    await #expect(processExitsWith: .success) {
      let mayEnd = Flag()
      let thread = Thread.begin("maps") {
        while !mayEnd.isRaised {
          let file = unsafe open("/bin/sh", O_RDONLY | O_CLOEXEC)
          let place = unsafe mmap(nil, 1 << 20, PROT_READ, MAP_PRIVATE, file, 0)
          _ = unsafe munmap(place, 1 << 20)
          close(file)
        }
      }
      for _ in 0..<8 { precondition(Symbolicator.name(of: addressForTheTest())?.function != nil) }
      // Nor may it harm what looks for leaks as the process ends.
      mayEnd.raise()
      thread.join()
    }
  }

  @Test func `the tables of symbols go when a look-up is over`() async {
    await #expect(processExitsWith: .success) {
      let before = anonymousBytes()
      precondition(Symbolicator.name(of: addressForTheTest())?.function != nil)
      // The tables of this program alone have more.
      precondition(anonymousBytes() - before < 20_000_000)
    }
  }
}

@_cdecl("symbolForTheTest") func symbolForTheTest() -> CInt { 17 }

private func addressForTheTest() -> UInt {
  UInt(bitPattern: unsafe unsafeBitCast(symbolForTheTest as @convention(c) () -> CInt, to: UnsafeRawPointer.self))
}

/// How many bytes of the process's memory are in no file.
private func anonymousBytes() -> Int {
  let words = SystemFiles.text("/proc/self/statm", limit: 128)!.split(separator: " ").map { Int($0) ?? 0 }
  return (words[1] - words[2]) * Int(getpagesize())
}
