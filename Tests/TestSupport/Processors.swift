internal import CLinux
internal import Glibc

/// The numbers of the processors that the calling thread may run on.
package func usableProcessors() -> [Int] {
  var numbers = [CInt](repeating: 0, count: 8_192)
  let count = unsafe rondo_allowed_processors(0, &numbers, CInt(numbers.count))
  precondition(count > 0, "errno \(-count)")
  return numbers.prefix(Int(count)).map(Int.init)
}

/// Keeps the calling thread on one processor; nil for the first that it may run on.
package func pinThread(to processor: Int? = nil) {
  pin(0, processor ?? usableProcessors()[0])
}

/// Keeps the calling thread, those that it makes, and the first one of the process on one processor.
package func pinProcess() {
  let processor = usableProcessors()[0]
  pin(0, processor)
  pin(getpid(), processor)
}

private func pin(_ thread: pid_t, _ processor: Int) {
  var number = CInt(processor)
  let result = unsafe rondo_keep_on(thread, &number, 1)
  precondition(result == 0, "errno \(-result)")
}
