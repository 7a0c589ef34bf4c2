internal import Rondo
internal import Synchronization

/// Serves the main actor's jobs by the main dispatch queue while the main loop is not run.
///
/// With RondoMain in the program the main actor is the main loop's. A synchronous main may still wait in something
/// else, as XCTest's runner does in Foundation's loop. The main queue, which is served there, then serves the main actor.
final class MainRelay: Sendable {
  /// Calls a function later on the main queue.
  typealias Queue = @Sendable (_ function: @escaping @Sendable () -> Void) -> Void

  /// *atomic* Whether a block is in the queue that has not looked for jobs yet.
  private let isUnderWay = Atomic(false)
  /// *constant* It goes with its loop, and a block may come later.
  private weak let loop: Loop?
  /// *constant*
  private let queue: Queue

  init(_ loop: Loop, _ queue: @escaping Queue) {
    self.loop = loop
    self.queue = queue
  }

  /// Has the loop's jobs served by the queue, unless a run comes first. Any thread.
  func ask() {
    if isUnderWay.exchange(true, ordering: .acquiringAndReleasing) { return }
    queue { [self] in
      // Before it looks: a thread that enqueues after that asks again.
      _ = isUnderWay.exchange(false, ordering: .acquiringAndReleasing)
      // Once the main thread has ended, libdispatch serves the queue on its own threads, and the runtime's run the jobs.
      guard let loop, loop.isCurrent else { return }
      loop.serveJobsOutsideRuns()
    }
  }
}
