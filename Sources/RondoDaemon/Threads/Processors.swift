import CLinux
internal import CRondoDaemon
import Glibc
public import Rondo

extension Loop {
  /// Keeps the loop's thread on these processors. Any thread. See sched_setaffinity(2).
  ///
  /// It holds until it is changed again. Threads that this one makes later inherit it.
  ///
  /// - Parameter processors: Numbers as the kernel counts them. Those that the process may not use are left out.
  /// - Throws: Why the thread may run where it could before.
  public func setProcessors(_ processors: Set<Int>) throws(SchedulingError) {
    try keep(on: processors)
    Spread.leave([self])
  }

  /// Returns the processors that the loop's thread may run on. Any thread. See sched_getaffinity(2).
  package func processors() throws(SchedulingError) -> Set<Int> {
    Set(try allowedProcessors(of: schedulableThread))
  }

  /// Keeps each loop's thread on a processor of its own, near the others. Any thread.
  ///
  /// It is for loops that answer each other, with a `busyPollBudget`. It chooses cores below one cache if there is room,
  /// and processors that no other call has chosen. It does nothing if the process has fewer processors than loops.
  ///
  /// - Parameter loops: Loops of different threads.
  /// - Returns: The processors of the loops, in their order; empty if nothing was done.
  /// - Throws: Why a thread could not be kept on its processor. Those before it are.
  @discardableResult
  public static func spread(_ loops: [Loop]) throws(SchedulingError) -> [Int] {
    require(
      Set(loops.map(ObjectIdentifier.init)).count == loops.count,
      "A loop cannot be spread over two processors. Pass each loop once.")
    let processors = try Spread.processors
    return processors.count < loops.count ? [] : try Spread.keepApart(loops, on: processors)
  }

  fileprivate func keep(on processors: Set<Int>) throws(SchedulingError) {
    let numbers = processors.filter { 0..<8_192 ~= $0 }.map(CInt.init)
    let result = unsafe rondo_keep_on(try schedulableThread, numbers, CInt(numbers.count))
    if result == -EINVAL { throw .noProcessor(of: processors) }
    if result != 0 { throw SchedulingError(result) }
  }
}

/// Which loops of this process have a processor of their own.
enum Spread {
  private struct Place {
    weak var loop: Loop?
    let processor: Int
  }

  /// *its lock*
  private static let places = PerProcess<[Place]>([])
  /// *constant* What the thread could use that asked first: a thread that was spread has only one left.
  private static let first = Result { () throws(SchedulingError) in try allowedProcessors(of: 0) }

  /// The processors to choose from, in order; one at least.
  static var processors: [Int] {
    get throws(SchedulingError) { Set(try first.get()).union(try allowedProcessors(of: 0)).sorted() }
  }

  /// Keeps each loop's thread on one of the processors: each is used once before one is used twice.
  static func keepApart(_ loops: [Loop], on processors: [Int]) throws(SchedulingError) -> [Int] {
    var choice = ProcessorChoice(
      processors: processors.map { number in
        ProcessorChoice.Processor(
          number: number, core: Int(rondo_first_of_core(CInt(number))), cache: Int(rondo_first_of_cache(CInt(number))))
      })
    leave(loops)
    let numbers = places.withLock { places in
      for place in places { choice.add(place.processor) }
      let numbers = choice.choose(loops.count)
      places += zip(loops, numbers).map { Place(loop: $0, processor: $1) }
      return numbers
    }
    for (index, number) in numbers.enumerated() {
      do throws(SchedulingError) {
        try loops[index].keep(on: [number])
      } catch {
        // The process could use it once: its set of processors may have shrunk since.
        if case .noProcessor = error, processors.count > loops.count {
          return try keepApart(loops, on: processors.filter { $0 != number })
        }
        leave(Array(loops[index...]))
        throw error
      }
    }
    return numbers
  }

  /// Forgets where these loops are, and those that have ended.
  fileprivate static func leave(_ loops: [Loop]) {
    let known = places.withLock { places in
      let known = places.map(\.loop)
      places.removeAll { place in
        guard let loop = place.loop, !loop.hasEnded else { return true }
        return loops.contains { $0 === loop }
      }
      return known
    }
    // The last reference to a loop may be one of these. What its end calls must not find the lock held.
    withExtendedLifetime(known) {}
  }
}

/// The processors that a thread may run on, 0 for the calling one; at least one.
func allowedProcessors(of thread: CInt) throws(SchedulingError) -> [Int] {
  var numbers = [CInt](repeating: 0, count: 8_192)
  let count = unsafe rondo_allowed_processors(thread, &numbers, CInt(numbers.count))
  guard count > 0 else { throw SchedulingError(count) }
  return numbers.prefix(Int(count)).map(Int.init)
}
