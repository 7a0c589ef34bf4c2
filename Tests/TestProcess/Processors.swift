internal import CLinux

/// The numbers of the processors that the calling thread may run on.
package func usableProcessors() -> [Int] {
  var numbers = [CInt](repeating: 0, count: 8_192)
  let count = unsafe rondo_allowed_processors(&numbers, CInt(numbers.count))
  precondition(count > 0, "errno \(-count)")
  return numbers.prefix(Int(count)).map(Int.init)
}

/// Keeps the calling thread on one of the processors that it may run on.
package func pinThread() {
  let result = rondo_pin_thread(CInt(usableProcessors()[0]))
  precondition(result == 0, "errno \(-result)")
}
