import CLinux
import Glibc
import Synchronization

/// A thread as loops know it: its identity, its loop, and what becomes of the loop when the thread ends.
@safe final class ThreadRecord: @unchecked Sendable, CustomStringConvertible {
  /// *constant*
  let isMain: Bool
  /// *constant* The process the record was made in, told apart by forks.
  let generation: UInt32
  /// *constant* Where to look which process this is.
  private let process: ProcessGeneration.Word
  /// *its own lock* The thread's loop, once a caller asked for it.
  private let loop = Guarded<Loop?>(nil)
  /// *its thread* A loop in virtual time that stands in for the thread's own.
  private(set) var virtualLoop: Loop?
  /// *its thread* The scope of virtual time that the thread is in.
  var scope: (any VirtualScope)?
  /// *atomic* Where the loop that the thread has at present lives in memory, if it has one.
  private let loopAddress = Atomic<UInt>(0)
  /// *atomic* Whether the main thread has ended, or is about to, and its loop with it.
  private let hasEnded = Atomic<Bool>(false)
  /// *atomic* The kernel's name for the thread; 0 until it has asked for its record itself.
  private let threadID = Atomic<Int32>(0)
  /// *atomic* The thread's pointer to its own control block, while it lives and has asked for its record; else 0.
  private let threadPointer = Atomic<UInt>(0)

  private init(isMain: Bool) {
    self.isMain = isMain
    generation = ProcessGeneration.current
    unsafe process = ProcessGeneration.word
  }

  /// A record for a thread that is yet to start, and that calls `adopt()` first thing.
  static func forNewThread() -> ThreadRecord {
    ThreadRecord(isMain: false)
  }

  /// Makes the record the calling thread's, which has none yet.
  func adopt() {
    threadID.store(rondo_thread_id(), ordering: .relaxed)
    if isMain && generation == 0 { Self.firstMainThread.store(rondo_thread_pointer(), ordering: .relaxed) }
    threadPointer.store(rondo_thread_pointer(), ordering: .relaxed)
    unsafe Self.remember(Unmanaged.passRetained(self).toOpaque())
  }

  /// The thread's own loop, made on first use. Any thread, for the main thread's sake.
  ///
  /// The caller has no way to hear that there are no descriptors for it: the process ends with a message.
  var ownLoop: Loop {
    do { return try makeOwnLoop() } catch { fatalError("\(error)") }
  }

  /// The same, for a caller that can be told, or for a thread in virtual time. Calls out.
  func makeOwnLoop(callsHook: Bool = true, by virtual: (any VirtualThread)? = nil) throws(DescriptorShortage) -> Loop {
    let (known, isNew) = try loop.withLock { (loop) throws(DescriptorShortage) -> (Loop?, Bool) in
      if loop != nil || hasEnded.load(ordering: .relaxed) { return (loop, false) }
      let made = if let virtual { virtual.makeLoop(of: NewThread(record: self)) } else { try Loop(thread: self) }
      loop = made
      loopAddress.store(Self.address(of: made), ordering: .relaxed)
      return (made, true)
    }
    let loop = known ?? makeEndedLoop()
    // Outside of the lock: the hook may ask for the thread's loop.
    if isNew, callsHook, !loop.isVirtual { LoopCreationHook.call(loop) }
    if isMain, loop.hasEnded { Self.noteEndOfMain() }
    return loop
  }

  /// A loop that has ended, for those who ask for a main thread's that has ended and never had one. Any thread.
  private func makeEndedLoop() -> Loop {
    let record = ThreadRecord(isMain: true)
    // For the end of that loop this thread is its own.
    record.threadPointer.store(rondo_thread_pointer(), ordering: .relaxed)
    let made = Loop(endingWith: record)
    made.tearDown()
    record.threadPointer.store(0, ordering: .relaxed)
    // Another thread may have been faster.
    return loop.withLock { loop in
      if loop == nil { loop = made }
      return loop!
    }
  }

  /// Has a loop in virtual time stand in for the thread's own, or the one before again. The thread itself.
  ///
  /// - Returns: What stood in before.
  func standIn(_ loop: Loop?) -> Loop? {
    let outer = virtualLoop
    virtualLoop = loop
    let present = loop ?? self.loop.withLock { $0 }
    loopAddress.store(present.map(Self.address) ?? 0, ordering: .relaxed)
    return outer
  }

  private static func address(of loop: Loop) -> UInt {
    UInt(bitPattern: unsafe Unmanaged.passUnretained(loop).toOpaque())
  }

  /// Whether the loop that is to be made shall serve the main dispatch queue.
  ///
  /// In a forked child, if the calling thread was the first process's main thread as well: libdispatch takes it for that.
  var canServeMainQueue: Bool {
    guard isMain else { return false }
    if generation == 0 { return true }
    return rondo_is_main_thread() != 0
      && Self.firstMainThread.load(ordering: .relaxed) == rondo_thread_pointer()
  }

  /// *atomic* The first process's main thread, once it has asked for its record.
  private static let firstMainThread = Atomic<UInt>(0)

  /// Whether this is the process the record was made in, and no forked child of it: one relaxed load.
  @inline(__always)
  var isOfThisProcess: Bool { unsafe process.pointee.load(ordering: .relaxed) == generation &+ 1 }

  @inline(never)
  static func failAfterFork() -> Never {
    fatalError("This loop belongs to the parent of a forked process. Ask the child's own Loop.current or Loop.main.")
  }

  /// What `Loop.current` returns.
  var currentLoop: Loop {
    virtualLoop ?? ownLoop
  }

  /// The thread is ending: so does its loop.
  ///
  /// The main thread's is asked for by others, and so it stays, ended.
  func end() {
    // First: a thread that asks for the loop from here on makes none that would live on.
    if isMain, hasEnded.exchange(true, ordering: .relaxed) { return }
    let loop = loop.withLock { $0 }
    if isMain, let loop { loop.warnOfLostItems() }
    loop?.tearDown()
    loopAddress.store(0, ordering: .relaxed)
    // Let go of outside of the lock: what a product has given the loop dies with its last reference.
    if !isMain { _ = self.loop.withLock { $0.take() } }
  }

  /// *atomic*
  private static let hasNotedEndOfMain = Atomic<Bool>(false)

  /// Says, once in a process, that the loop which a caller has asked for does nothing any more.
  @inline(never)
  private static func noteEndOfMain() {
    if hasNotedEndOfMain.exchange(true, ordering: .relaxed) { return }
    warn(
      """
      The main thread has ended, and Loop.main with it: it takes nothing any more. In a program whose main is async, import \
      RondoMain; else call Loop.main.run().
      """)
  }

  var description: String {
    let name = isMain ? "the main thread" : "another thread"
    let id = threadID.load(ordering: .relaxed)
    return id == 0 ? name : "\(name) (\(id))"
  }

  // MARK: - The calling thread

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let error = unsafe pthread_key_create(&key) { pointer in
      guard let pointer = unsafe pointer else { return }
      let record = unsafe Unmanaged<ThreadRecord>.fromOpaque(pointer).takeRetainedValue()
      // Cancel callbacks and closures that die now must still find themselves on the loop's thread.
      unsafe ThreadRecord.remember(pointer)
      // What belongs to the parent of a forked process is never torn down there, and so must stay.
      if record.isOfThisProcess { record.end() } else { _ = unsafe Unmanaged.passRetained(record) }
      unsafe ThreadRecord.remember(nil)
      // The next thread may be given the same one.
      record.threadPointer.store(0, ordering: .relaxed)
    }
    require(error == 0, "No thread-local slot is left for the thread's loop: errno \(error).")
    return key
  }()

  /// Sets the calling thread's record, in the two places: the key's destructor ends it, the other one costs no call.
  private static func remember(_ record: UnsafeMutableRawPointer?) {
    _ = unsafe pthread_setspecific(key, record)
    unsafe rondo_set_thread_record(record)
  }

  /// The calling thread's record if it has one.
  @inline(__always)
  private static var existing: ThreadRecord? {
    guard let pointer = unsafe rondo_thread_record() else { return nil }
    return unsafe Unmanaged<ThreadRecord>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Where the loop that the calling thread has at present lives in memory: no reference count, and no loop is made.
  @inline(__always)
  static var loopAddress: UnsafeMutableRawPointer? {
    guard let pointer = unsafe rondo_thread_record() else { return nil }
    let record = unsafe Unmanaged<ThreadRecord>.fromOpaque(pointer)
    let address = unsafe record._withUnsafeGuaranteedRef { $0.loopAddress.load(ordering: .relaxed) }
    return unsafe UnsafeMutableRawPointer(bitPattern: address)
  }

  /// The calling thread's record, made on first use.
  static var current: ThreadRecord {
    if let record = existing, record.isOfThisProcess { return record }
    return makeCurrent()
  }

  @inline(never)
  private static func makeCurrent() -> ThreadRecord {
    let record = rondo_is_main_thread() != 0 ? main : ThreadRecord(isMain: false)
    record.adopt()
    return record
  }

  /// Whether `record` is the calling thread's.
  ///
  /// The optimiser takes the thread's pointer for a constant of the function. That is right in a function that does not
  /// await: this is inlined into those only, and what async code asks, ``Loop/isCurrent``, is never inlined there.
  @inline(__always)
  static func isCurrent(_ record: ThreadRecord) -> Bool {
    let pointer = record.threadPointer.load(ordering: .relaxed)
    if pointer == 0 { return isOfCurrent(record) }
    return pointer == rondo_thread_pointer() && record.isOfThisProcess
  }

  /// For the record of a thread that has not asked for it yet, or is gone.
  @inline(never)
  private static func isOfCurrent(_ record: ThreadRecord) -> Bool {
    current === record
  }

  /// Whether the thread has ever asked for its record.
  var hasStarted: Bool { number != 0 }

  /// The kernel's name for the thread; 0 until it has asked for its record.
  var number: Int32 { threadID.load(ordering: .relaxed) }

  /// Whether the calling thread is the record's.
  @inline(__always)
  var isCurrent: Bool { ThreadRecord.isCurrent(self) }

  private static let mainRecord = PerProcess<ThreadRecord?>(nil)

  /// The main thread's record, from any thread.
  static var main: ThreadRecord {
    mainRecord.withLock { record in
      if let record { return record }
      let made = ThreadRecord(isMain: true)
      record = made
      return made
    }
  }

  /// The loop in virtual time that stands in on this thread.
  static var standIn: Loop? { present { $0.virtualLoop } }

  /// What the record of the calling thread has; nil if the thread has not asked for one.
  static func present<Value>(_ read: (ThreadRecord) -> Value?) -> Value? {
    guard let pointer = unsafe rondo_thread_record() else { return nil }
    return unsafe Unmanaged<ThreadRecord>.fromOpaque(pointer)._withUnsafeGuaranteedRef(read)
  }

  /// The clock of the virtual loop that stands in on this thread.
  static var virtualNow: Instant? {
    guard let pointer = unsafe rondo_thread_record() else { return nil }
    return unsafe Unmanaged<ThreadRecord>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.virtualLoop?.now }
  }
}

/// What a product above does with each loop that is made.
package enum LoopCreationHook {
  private final class Hook: Sendable {
    /// *constant*
    let call: @Sendable (Loop) -> Void

    init(_ call: @escaping @Sendable (Loop) -> Void) {
      self.call = call
    }
  }

  /// *atomic* Set once, and never freed. A forked child has it, too.
  private static let hook = unsafe Atomic<Unmanaged<Hook>?>(nil)

  /// Has `hook` called with each loop that is made from now on, by the thread that makes it, before it gets the loop.
  /// The first hook of the process stays.
  ///
  /// A loop in virtual time is left out. Another thread may get the main thread's loop before `hook` returns.
  package static func set(_ hook: @escaping @Sendable (Loop) -> Void) {
    let made = unsafe Unmanaged.passRetained(Hook(hook))
    let (isFirst, _) = unsafe self.hook.compareExchange(expected: nil, desired: made, ordering: .sequentiallyConsistent)
    if !isFirst { unsafe made.release() }
  }

  /// Calls out.
  static func call(_ loop: Loop) {
    Lock.assertNoneHeld()
    unsafe hook.load(ordering: .acquiring)?.takeUnretainedValue().call(loop)
  }
}
