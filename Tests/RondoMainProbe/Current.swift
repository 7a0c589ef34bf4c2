import CLinux
import Rondo
import Synchronization

/// Runs an actor's jobs on two loops by turns, so that one function finds itself on another thread after each await.
private final class Switching: SerialExecutor, Sendable {
  let loops: [Loop]
  private let turn = Atomic(0)

  init(_ loops: [Loop]) { self.loops = loops }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let turn = turn.add(1, ordering: .relaxed).newValue
    loops[turn % loops.count].perform { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

private actor Wanderer {
  private let executor: Switching
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

  init(_ executor: Switching) { self.executor = executor }

  /// Asks loop and kernel where it is, before and after each await: how often it was where, and how often they differed.
  func wander(_ thread: LoopThread, _ threadID: CInt) async -> (there: Int, wrong: Int) {
    var (there, wrong) = (0, 0)
    for _ in 0..<200 {
      let isThere = thread.loop.isCurrent
      if isThere { there += 1 }
      if isThere != (rondo_thread_id() == threadID) { wrong += 1 }
      await Task.yield()
      if thread.isCurrent != (rondo_thread_id() == threadID) { wrong += 1 }
      await Task.yield()
      await Task.yield()
    }
    return (there, wrong)
  }
}

/// Whether `isCurrent` says where it is asked, and not where the function was before.
func probeCurrent() async {
  let threads = [try! LoopThread(name: "one"), try! LoopThread(name: "two")]
  let threadID = try! await threads[0].loop.call { rondo_thread_id() }
  let (there, wrong) = await Wanderer(Switching(threads.map(\.loop))).wander(threads[0], threadID)
  report("there", there)
  report("wrong", wrong)
  for thread in threads { await thread.end() }
}
