internal import Glibc

// Swift's Glibc module lacks these two: sched_getaffinity(2), sched_setaffinity(2).
@_silgen_name("sched_getaffinity")
private func getAffinity(_ thread: CInt, _ size: Int, _ mask: UnsafeMutableRawPointer) -> CInt
@_silgen_name("sched_setaffinity")
private func setAffinity(_ thread: CInt, _ size: Int, _ mask: UnsafeRawPointer) -> CInt

/// The numbers of the processors that the calling thread may run on.
package func usableProcessors() -> [Int] {
  var mask = [UInt8](repeating: 0, count: 1_024)
  precondition(unsafe getAffinity(0, mask.count, &mask) >= 0, "errno \(errno)")
  return (0..<8 * mask.count).filter { mask[$0 / 8] & 1 << ($0 % 8) != 0 }
}

/// Keeps the calling thread on one of the processors that it may run on.
package func pinThread() {
  let first = usableProcessors()[0]
  var mask = [UInt8](repeating: 0, count: 1_024)
  mask[first / 8] = 1 << (first % 8)
  precondition(unsafe setAffinity(0, mask.count, &mask) == 0, "errno \(errno)")
}
