import Glibc
import Rondo
import Synchronization

/// What was done and what went wrong, for every thread.
final class Ledger: Sendable {
  let operations = Count()
  let callouts = Count()
  let turns = Count()
  let moves = Count()
  let replacedLoops = Count()
  let probes = Count()
  let posts = Census()
  let items = Census()
  let tasks = Census()
  /// Blocks that ran, were refused, or were dropped with their loop.
  let ran = Count()
  let refused = Count()
  let dropped = Count()
  private let failures = Guarded<[String]>([])

  /// Notes that something is wrong; the run goes on, as more may be learned.
  func fail(_ text: String) {
    let count = failures.withLock { failures in
      failures.append(text)
      return failures.count
    }
    if count <= 20 { report("WRONG: \(text)") }
  }

  var failureCount: Int { failures.withLock { $0.count } }

  /// What has to move on while nothing hangs.
  var progress: Int { operations.value &+ callouts.value &+ probes.value &+ ran.value }
}

/// A number that any thread may add to and read.
final class Count: Sendable {
  private let number = Atomic<Int>(0)

  var value: Int { number.load(ordering: .sequentiallyConsistent) }

  @discardableResult
  func add(_ amount: Int = 1) -> Int { number.add(amount, ordering: .sequentiallyConsistent).newValue }
}

/// How many of a kind were made, and how many are still there.
final class Census: Sendable {
  let births = Count()
  let deaths = Count()

  var living: Int { births.value - deaths.value }
}

/// Lives as long as what holds it, and is counted.
final class Witness: Sendable {
  private let census: Census

  init(_ census: Census) {
    self.census = census
    census.births.add()
  }

  deinit { census.deaths.add() }
}

/// Writes a line at once, whatever becomes of the process.
func report(_ line: String) {
  let text = line + "\n"
  let bytes = Array(text.utf8)
  _ = unsafe write(1, bytes, bytes.count)
}

/// Waits until `condition` holds, and gives up after a minute.
func eventually(_ condition: () -> Bool) -> Bool {
  let deadline = SuspendingClock().now + .seconds(60)
  while !condition() {
    if SuspendingClock().now > deadline { return false }
    usleep(200)
  }
  return true
}

/// What the process has open: numbers and what they stand for.
///
/// Timers apart, of which libdispatch makes its own when it first needs them; a loop's comes and goes with its eventfd.
/// And files of /proc, which the runtime opens for a moment.
func descriptorNames() -> [CInt: String] {
  var found: [CInt: String] = [:]
  for number in 0..<CInt(2_000) where fcntl(number, F_GETFD) >= 0 {
    var bytes = [CChar](repeating: 0, count: 100)
    let count = unsafe readlink("/proc/self/fd/\(number)", &bytes, bytes.count)
    let name = String(decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if name != "anon_inode:[timerfd]", !name.hasPrefix("/proc/") { found[number] = name }
  }
  return found
}

/// Something to wait for, set by another thread, without keeping a processor from it.
final class Latch: Sendable {
  private let isSet = Atomic<Bool>(false)

  func set() { isSet.store(true, ordering: .sequentiallyConsistent) }

  func wait() {
    while !isSet.load(ordering: .sequentiallyConsistent) { usleep(20) }
  }
}

/// Sets a latch when the block that holds it has run or was dropped.
final class Fuse: Sendable {
  private let latch: Latch

  init(_ latch: Latch) { self.latch = latch }

  deinit { latch.set() }
}
