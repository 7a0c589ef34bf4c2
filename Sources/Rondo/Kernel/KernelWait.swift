import CLinux
import Glibc

/// Waiting in the kernel: an event base for each mode, one timerfd and one eventfd for the loop. *loop thread*
///
/// A mode is named by its index.
///
/// Both are watched edge-triggered by every wait set, hence never read. An edge left from another mode's wait ends a
/// sleep early; the turn notices that nothing happened and sleeps on.
@safe final class KernelWait {
  private let own: KernelDescriptors
  private let wakeup: Wakeup
  @safe @exclusivity(unchecked) private(set) var sets: ContiguousArray<WaitSet?> = []
  /// The mode whose wait set is in order, by index; -1 for none.
  @safe @exclusivity(unchecked) private var preparedMode = -1
  /// Sources that have lost their file or were refused. A handler may die with them, so they end outside of this class.
  @safe @exclusivity(unchecked) private var rejected: [RejectedSource] = []
  /// Called before an epoll set is closed, for a loop that watches it.
  @safe @exclusivity(unchecked) var beforeClosing: ((CInt) -> Void)?
  /// The wait set that was waited in last, as its bare parts: finding it again costs no reference count.
  @safe @exclusivity(unchecked) private var selected: Selection?
  /// The descriptor that a host waits by, and the mode it stands for.
  @safe @exclusivity(unchecked) private var hosted: HostedSet?
  @safe @exclusivity(unchecked) private var alarm = Alarm()

  /// - Parameter base: For the first mode. So a loop that could be made can run.
  /// - Throws: If the kernel refuses to watch the loop's own descriptors, which stay the caller's then.
  init(_ own: KernelDescriptors, _ base: EventBase, _ wakeup: Wakeup) throws(WaitFailure) {
    self.own = own
    self.wakeup = wakeup
    let first = WaitSet(own: own)
    _ = try first.open(base, besides: [])
    sets = [first]
  }

  /// For a loop that ends at once, and never waits.
  init(endingWith wakeup: Wakeup) {
    own = .none
    self.wakeup = wakeup
  }

  @inline(__always)
  var now: Instant { Instant(nanoseconds: rondo_monotonic_now()) }

  // MARK: - Waiting

  /// Makes the mode the one that a post wakes. Before the loop says that it sleeps.
  ///
  /// - Returns: The mode's epoll set.
  @inline(__always)
  func choose(_ mode: Int, servesMainQueue: Bool) -> CInt {
    select(mode, servesMainQueue).epoll
  }

  /// Sleeps in the mode until something is ready, a poster wakes the loop or the timerfd's date has come; or polls.
  ///
  /// - Returns: Whether the main dispatch queue has something.
  @inline(__always)
  func wait(in mode: Int, _ servesMainQueue: Bool, into ready: inout ReadyList, blocks: Bool) -> Bool {
    let selection = select(mode, servesMainQueue)
    let collection = selection.collection
    let error = blocks ? collection.sleepInKernel() : collection.poll()
    if error != 0 { WaitFailure("its epoll set", selection.epoll, error, in: "epoll_wait(2)").end() }
    // The kernel reports a date of the timerfd once. It was collected with this wait, and the timerfd is disarmed since.
    if collection.hasCollected(.timer) { alarm.collected() }
    collection.deliver(to: &ready)
    return collection.hasCollected(.mainQueue)
  }

  /// Looks whether anything is ready in the mode, and leaves it for the next wait.
  @inline(__always)
  func findsNothing(in mode: Int, servesMainQueue: Bool) -> Bool {
    if mustPrepare(mode) { return false }
    let selection = select(mode, servesMainQueue)
    let found = selection.collection.look()
    if found > 0 { WaitFailure("its epoll set", selection.epoll, found, in: "epoll_wait(2)").end() }
    return found == 0
  }

  @inline(__always)
  private func select(_ mode: Int, _ servesMainQueue: Bool) -> Selection {
    if let selected, selected.mode == mode, selected.servesMainQueue == servesMainQueue { return selected }
    return selectAnew(mode, servesMainQueue)
  }

  @inline(never)
  private func selectAnew(_ mode: Int, _ servesMainQueue: Bool) -> Selection {
    let set = waitSet(of: mode)
    set.watchMainQueue(servesMainQueue)
    let epoll = set.base!.epoll
    let selection = Selection(mode: mode, servesMainQueue: servesMainQueue, epoll: epoll, collection: set.collection)
    selected = selection
    wakeup.sleeps(in: epoll)
    return selection
  }

  /// A wait set's parts; its owner keeps them alive.
  private struct Selection {
    let mode: Int
    let servesMainQueue: Bool
    let epoll: CInt
    let collection: EventCollection
  }

  /// Arms the timerfd unless it already is right: one timerfd_settime(2).
  @inline(__always)
  func arm(_ deadline: Instant) {
    guard alarm.set(deadline) else { return }
    // 0 would disarm, and a negative time is an error: both mean a deadline long past.
    let error = rondo_timerfd_arm(own.timer, deadline == .distantFuture ? 0 : max(1, deadline.nanoseconds))
    if error != 0 {
      WaitFailure("the timerfd that wakes it in time", own.timer, error, in: "timerfd_settime(2)").end()
    }
  }

  // MARK: - Wait sets

  /// The mode's wait set, with a base.
  @inline(__always)
  private func waitSet(of mode: Int) -> WaitSet {
    if mode < sets.count, let set = sets[mode], set.base != nil { return set }
    return openWaitSet(of: mode)
  }

  /// Gives the mode's set a base of its own, or that of another mode while descriptors are short.
  @inline(never)
  private func openWaitSet(of mode: Int) -> WaitSet {
    while sets.count <= mode { sets.append(nil) }
    let set = sets[mode] ?? WaitSet(own: own)
    sets[mode] = set
    if let hosted, hosted.mode == mode, let borrower = sets.first(where: { $0?.base?.epoll == hosted.epoll }) {
      open(set, letGo(of: borrower!)!)
      return set
    }
    do {
      open(set, try EventBase(for: "A mode of a loop needs an epoll set"))
    } catch {
      // No set is being waited in. The other mode takes a base back when it runs.
      guard let other = sets.firstIndex(where: { $0?.base != nil }) else { fatalError("\(error)") }
      DescriptorShortage.note(error, "The loop's modes share what there is, which makes a switch O(sources).")
      open(set, letGo(of: sets[other]!)!)
    }
    return set
  }

  private func open(_ set: WaitSet, _ base: EventBase) {
    // The set's old base is closed last, so that the new one has another number.
    let old = letGo(of: set)
    let others = sets.compactMap { $0?.base?.epoll } + (old.map { [$0.epoll] } ?? [])
    do { rejected += try set.open(base, besides: others) } catch { error.end() }
    if let hosted {
      if let old, old.epoll == hosted.epoll { hosted.keep(old) }
      if sets.indices.contains(hosted.mode), sets[hosted.mode] === set { hosted.follow(base) }
    }
  }

  /// Takes a set's base away.
  private func letGo(of set: WaitSet) -> EventBase? {
    selected = nil
    preparedMode = -1
    // A poster that is about to wake the loop may have read the set's number already.
    wakeup.awaitWriters()
    if let epoll = set.base?.epoll { beforeClosing?(epoll) }
    return set.release()
  }

  /// Has the mode keep its epoll set's number, for a host to wait by.
  func beginHosting(_ mode: Int, _ servesMainQueue: Bool) -> CInt {
    let epoll = select(mode, servesMainQueue).epoll
    hosted = HostedSet(mode: mode, epoll: epoll)
    return epoll
  }

  func endHosting() { hosted = nil }

  // MARK: - Descriptor sources

  /// Brings the kernel in line with what a source wants in a mode.
  func watch(_ source: Loop.DescriptorSource, _ token: Token, in mode: Int, _ watches: inout WatchList) {
    let wanted = source.enabled
    let known = watches[mode]
    if wanted == known?.interest ?? [] { return }
    if known == nil, source.identity.isDevice {
      let error = rondo_is_refused(source.descriptor)
      if error != 0 { return rejected.append(RejectedSource(source: source, reason: .refused(errno: error))) }
    }
    let set = waitSet(of: mode)
    rejected += set.watch(source, token, in: mode, wanted, &watches)
    if set.mayHaveStaleRegistrations { preparedMode = -1 }
  }

  /// Takes the sources that were rejected since the last call.
  func takeRejected() -> [RejectedSource] {
    var taken: [RejectedSource] = []
    swap(&taken, &rejected)
    return taken
  }

  func unwatch(_ source: Loop.DescriptorSource, in mode: Int, _ watches: inout WatchList) -> [RejectedSource] {
    guard mode < sets.count, let set = sets[mode] else { return [] }
    let rejected = set.unwatch(source, in: mode, &watches)
    if set.mayHaveStaleRegistrations { preparedMode = -1 }
    return rejected
  }

  /// Another source that watches the source's file by the same number, in any mode.
  func companion(of source: Loop.DescriptorSource) -> Loop.DescriptorSource? {
    for set in sets {
      let sources = set?.number(of: source.descriptor)?.sources ?? []
      if let found = sources.first(where: { $0 !== source && $0.identity == source.identity }) { return found }
    }
    return nil
  }

  /// Whether the mode's wait set has to be prepared before a wait in it.
  @inline(__always)
  func mustPrepare(_ mode: Int) -> Bool { preparedMode != mode }

  /// Gives the mode's set a base, and a new one if a descriptor closed behind the loop's back may have stayed in it.
  ///
  /// The kernel keeps reporting a closed descriptor while a duplicate is open, and no call makes it stop.
  func prepare(_ mode: Int) {
    let set = waitSet(of: mode)
    defer { preparedMode = set.mayHaveStaleRegistrations ? -1 : mode }
    guard set.mayHaveStaleRegistrations else { return }
    do {
      open(
        set, try EventBase(for: "A closed descriptor may stay in a mode's epoll set, which then has to be made anew"))
    } catch {
      // The old one still works; the next wait tries again.
      DescriptorShortage.note(error, "Until it can, the loop may find itself awake for nothing.")
    }
  }

  func close() {
    (selected, hosted, preparedMode, sets) = (nil, nil, -1, [])
    own.close()
  }
}
