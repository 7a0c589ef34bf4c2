import CLinux
import CRondoInspect
import Glibc
import RondoTestSupport
import Testing

/// The clock that callouts are measured with.
@Suite(.offThePool) struct TicksTests {
  /// How far off it may be, by what its own tick may be off in 10 ms, in nanoseconds.
  private let precision: Int64 = 20_000

  @Test func `it agrees with the kernel's clock for as long as it is read`() {
    var clock = rondo_ticks()
    let end = rondo_monotonic_now() + 100_000_000
    var readings = 0
    repeat {
      let before = rondo_monotonic_now()
      let time = unsafe rondo_ticks_now(&clock)
      let after = rondo_monotonic_now()
      guard before - precision <= time, time <= after + precision else {
        Issue.record("Reading \(readings) is \(time), and lies between \(before) and \(after).")
        return
      }
      readings += 1
    } while rondo_monotonic_now() < end
  }

  @Test func `a pause does not put it off`() {
    var clock = rondo_ticks()
    for pause in [1, 5, 20, 60] as [UInt32] {
      _ = unsafe rondo_ticks_now(&clock)
      usleep(pause * 1_000)
      let before = rondo_monotonic_now()
      let time = unsafe rondo_ticks_now(&clock)
      #expect(time >= before - precision)
      #expect(time <= rondo_monotonic_now() + precision)
    }
  }

  @Test func `ticks of another length than before are not believed`() {
    var clock = rondo_ticks()
    _ = unsafe rondo_ticks_now(&clock)
    usleep(5_000)
    _ = unsafe rondo_ticks_now(&clock)
    // As after a sleep of the machine that one clock counts and the other does not.
    clock.ticks &-= 10_000_000_000
    clock.time -= 60_000_000
    let before = rondo_monotonic_now()
    for _ in 0..<100 {
      let time = unsafe rondo_ticks_now(&clock)
      #expect(time >= before - precision)
      #expect(time <= rondo_monotonic_now() + precision)
    }
  }
}
