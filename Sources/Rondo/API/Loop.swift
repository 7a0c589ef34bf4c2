import CLinux
import Glibc
import Synchronization

/// Waits for timers, descriptors, sources and posted blocks, and serves them on one thread.
///
/// A thread has one loop. It is made when you first ask for it, and ends with the thread. You may add, remove, post,
/// signal, wake and stop from any thread. Only the loop's own thread may run it, and only that thread may use its
/// timeouts, guests, embedding and event bases. After a fork, the child has loops of its own. See CFRunLoop.
@safe public final class Loop: @unchecked Sendable {
  /// *constant* The thread the loop belongs to.
  let thread: ThreadRecord
  /// *constant* What the loop's thread owns.
  let core: LoopCore
  /// *constant* The one lock.
  let mailbox = Mailbox()
  /// *constant*
  let wakeup: Wakeup
  /// *atomic* Nanoseconds a second that may be spun for precise timers.
  private let spinAllowance = Atomic<Int64>(100_000_000)
  /// *atomic* What the loop is called, if it was given a name.
  private let labelWord = Atomic<UInt64>(0)
  /// *atomic* How jobs come in, once an actor or a task names the loop. Ordering: a thread that finds the lanes sees what
  /// their maker wrote.
  let lanesMade = unsafe Atomic<Unmanaged<JobLanes>?>(nil)

  /// A loop for `thread` that waits in the kernel. It makes all the descriptors that a run needs.
  convenience init(thread: ThreadRecord) throws(DescriptorShortage) {
    let isMain = thread.canServeMainQueue
    let (own, base) = try KernelDescriptors.make(servesMainQueue: isMain)
    let wakeup = Wakeup(descriptor: own.wakeup)
    let wait: KernelWait
    do { wait = try KernelWait(own, base, wakeup) } catch {
      own.close()
      OwnDescriptors.close(own.wakeup)
      throw DescriptorShortage(need: "A loop needs an epoll set that watches \(error.what)", errno: error.errno)
    }
    self.init(thread, isMain: isMain, wakeup, .kernel(wait))
  }

  /// A loop for a thread that has ended and never had one. It has no descriptors, and is to be torn down at once.
  convenience init(endingWith thread: ThreadRecord) {
    let wakeup = Wakeup(descriptor: -1)
    self.init(thread, isMain: false, wakeup, .kernel(KernelWait(endingWith: wakeup)))
  }

  init(_ thread: ThreadRecord, isMain: Bool, _ wakeup: Wakeup, _ wait: Wait) {
    self.thread = thread
    self.wakeup = wakeup
    core = LoopCore(isMain: isMain, mailbox: mailbox, wakeup: wakeup, wait: wait)
    core.loop = self
    require(
      Membership.canName(address), "A loop was made at an address of more than 48 bits, which Rondo does not support.")
  }

  deinit {
    unsafe lanesMade.load(ordering: .acquiring)?.release()
  }

  /// The calling thread's loop, made on first use. Not from async code, which has no fixed thread.
  ///
  /// The first call takes three file descriptors. If none is left, it ends the process with a message; `LoopThread`
  /// throws instead.
  @available(
    *, noasync, message: "An async function has no thread of its own. Keep the Loop you mean, or use Loop.main."
  )
  public static var current: Loop {
    ThreadRecord.current.currentLoop
  }

  /// The main thread's loop, made on first use. Any thread.
  ///
  /// In virtual time it is `Loop.current`; on a `LoopThread` of a simulated host, the host's loop.
  public static var main: Loop {
    scope?.mainLoop ?? ThreadRecord.standIn ?? ThreadRecord.main.ownLoop
  }

  /// Whether the calling thread is the loop's. Any thread. In async code, ask again after each `await`.
  public var isCurrent: Bool {
    ThreadRecord.isCurrent(thread)
  }

  /// Whether this is the main thread's loop, and serves the main dispatch queue.
  package var isMain: Bool { core.isMain }

  /// Whether the loop serves one kernel event a turn, in order of arrival, as CFRunLoop does. Loop's thread.
  ///
  /// For comparison with the real thing only: the default serves all that is ready.
  package var servesOneEventPerTurn: Bool {
    get { core.servesOneEventPerTurn }
    set { core.oneEvent = newValue ? OneEventPolicy() : nil }
  }

  /// The loop's clock.
  package var now: Instant { core.wait.now }

  /// The clock of the calling thread: virtual inside a virtual loop's scope, else CLOCK_MONOTONIC.
  static var clockOfThread: Instant {
    ThreadRecord.virtualNow ?? Instant(nanoseconds: rondo_monotonic_now())
  }

  /// After a fork, a loop of the parent has the parent's kernel objects: using it would steal the parent's events.
  @inline(__always)
  package func checkProcess() {
    if !thread.isOfThisProcess { ThreadRecord.failAfterFork() }
  }

  // MARK: - Stop and wake

  /// Ends the innermost run at the end of its turn. Any thread; not from a signal handler.
  ///
  /// A loop that is not running ignores it: see `requestStop()`. See CFRunLoopStop.
  public func stop() {
    checkProcess()
    if isCurrent {
      core.stopFromOwnThread()
    } else {
      wakeup.post(.stop)
    }
  }

  /// Ends every run under way, or else the next one. Any thread; not from a signal handler.
  ///
  /// The request lasts until an outermost run has returned `.stopped`. It therefore cannot come too early.
  public func requestStop() {
    checkProcess()
    wakeup.post([.stopRequest, .wake])
  }

  /// Wakes the loop for another turn. Any thread; not from a signal handler.
  ///
  /// If the loop is about to sleep, it does not. Costs one epoll_ctl(2) if the loop sleeps and nothing if it is awake.
  /// A loop that is not running ignores it. See CFRunLoopWakeUp.
  public func wakeUp() {
    checkProcess()
    if isCurrent {
      core.wakeFromOwnThread()
    } else {
      wakeup.post(.wake)
    }
  }

  /// Whether the loop sleeps at this moment. Any thread. See CFRunLoopIsWaiting.
  public var isWaiting: Bool {
    core.counters.pulse.isWaiting
  }

  // MARK: - Precision

  /// How much of each second the loop may spin for precise timers. Any thread.
  ///
  /// From zero to one second; 100 ms at first. Once the budget of a second is spent, the loop sleeps for precise timers
  /// as for others until the next second, and counts that in ``Statistics/spinsDenied``.
  public var precisionBudget: Duration {
    get { .nanoseconds(spinAllowance.load(ordering: .relaxed)) }
    set { spinAllowance.store(Self.nanoseconds(of: newValue, "precision budget"), ordering: .relaxed) }
  }

  /// How much of each second the loop may spin before it sleeps. Any thread.
  ///
  /// From zero, which turns it off, to one second; 20 ms at first. Waking a loop that spins needs no system call. A spin
  /// lasts at most 100 us. At first the loop spins only in a dialogue: four posts in a row have each ended a sleep within
  /// 100 us of the one before. With a budget that you set, each sleep may begin with a spin.
  ///
  /// Spins for precise timers count as well. Of a spin that a post ends, 5 us do not count: a sleep takes more. If
  /// spinning gains nothing, or another thread wants the processor, the loop stops it for a while; with one processor it
  /// never spins. A descriptor that becomes ready during a spin waits for up to 10 us.
  public var busyPollBudget: Duration {
    get { .nanoseconds(abs(core.busyPollAllowance.load(ordering: .relaxed))) }
    set {
      core.busyPollAllowance.store(Self.nanoseconds(of: newValue, "busy-poll budget"), ordering: .relaxed)
      core.note(.spin)
    }
  }

  private static func nanoseconds(of budget: Duration, _ name: String) -> Int64 {
    require(
      budget >= .zero && budget <= .seconds(1),
      "The \(name) is a part of each second, from zero to one second, not \(budget).")
    return budget.saturatingNanoseconds
  }

  /// The precision budget in nanoseconds a second.
  var spinBudget: Int64 { spinAllowance.load(ordering: .relaxed) }

  // MARK: - Measures

  /// A snapshot of the loop's counters. Any thread.
  public var statistics: Statistics { core.counters.snapshot }

  /// Whether the loop measures its sleeps for ``Statistics/timeAsleep``; false at first. Any thread.
  ///
  /// It costs two readings of the clock a sleep. A mode without timers otherwise reads no clock.
  public var timesSleep: Bool {
    get { core.counters.timesSleep.load(ordering: .relaxed) }
    set {
      core.counters.timesSleep.store(newValue, ordering: .relaxed)
      if newValue { core.note(.watchedSleep) }
    }
  }

  /// The loop's name in reports. Any thread.
  ///
  /// It is "main" for the main thread's loop, the name of its `LoopThread`, or "loop", unless you set one. A process
  /// keeps each name permanently: see ``Item/name``.
  public var name: String {
    get { label.text ?? (core.isMain ? "main" : "loop") }
    set { if let label = Label(name: newValue) { labelWord.store(label.word, ordering: .releasing) } }
  }

  /// The name that it was given; none if it was given none.
  package var label: Label { Label(word: labelWord.load(ordering: .acquiring)) }

  /// A snapshot of the loop's state, for a watcher on another thread. Any thread.
  public var heartbeat: Heartbeat { core.counters.pulse.snapshot }
}
