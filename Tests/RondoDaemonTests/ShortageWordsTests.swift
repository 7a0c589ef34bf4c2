import Glibc
import Testing

@testable import RondoDaemon

/// What errors say of the kernel's shortages.
@Suite struct ShortageWordsTests {
  @Test func `memory that is short is not called a shortage of descriptors`() {
    #expect(SignalError(SIGTERM, errno: ENOMEM) == .noMemory)
    #expect(ClockError(errno: ENOMEM) == .noMemory)
    #expect(PressureError("/proc/pressure/cpu", ENOMEM) == .noMemory)
    #expect(ChildError(1, ENOMEM) == .noMemory)
    #expect(ChildError(starting: .init("/bin/true"), ENOMEM) == .noMemory)
    let all: [any Error] = [SignalError.noMemory, ClockError.noMemory, PressureError.noMemory, ChildError.noMemory]
    for error in all {
      #expect("\(error)".contains("no memory left") && !"\(error)".contains("descriptor"))
    }
  }

  @Test func `a number that is short is one of descriptors or processes`() {
    for number in [EMFILE, ENFILE] {
      #expect(SignalError(SIGTERM, errno: number) == .exhausted)
      #expect(ClockError(errno: number) == .exhausted)
      #expect(PressureError("/proc/pressure/cpu", number) == .exhausted)
      #expect(ChildError(1, number) == .exhausted)
    }
    #expect(ChildError(starting: .init("/bin/true"), EAGAIN) == .exhausted)
  }
}
