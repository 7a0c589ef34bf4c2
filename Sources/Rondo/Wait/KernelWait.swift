import CLibevent
import CLinux
import Glibc

/// Waiting in the kernel: an event_base for each mode, one timerfd and one eventfd for the loop. *loop thread*
///
/// Both are watched edge-triggered by every wait set, hence never read. An edge left from another mode's wait ends a
/// sleep early; the turn notices that nothing happened and sleeps on.
@safe final class KernelWait {
  private let wakeupDescriptor: CInt
  private let timerDescriptor: CInt
  @safe @exclusivity(unchecked) private var sets: ContiguousArray<WaitSet?> = []
  /// Some wait set has to be brought in order before it is waited in.
  @safe @exclusivity(unchecked) private var needsMending = false
  /// The wait set that was waited in last, as its bare parts: finding it again costs no reference count.
  @safe @exclusivity(unchecked) private var selected: Selection?
  /// What the timerfd was armed for last; `.distantFuture` when disarmed.
  @safe @exclusivity(unchecked) private var armedFor = Instant.distantFuture

  init(wakeupDescriptor: CInt) {
    rondo_silence_libevent()
    self.wakeupDescriptor = wakeupDescriptor
    timerDescriptor = rondo_timerfd()
    precondition(timerDescriptor >= 0, "A loop needs a timerfd, and none could be made: errno \(errno).")
  }

  @inline(__always)
  var now: Instant { Instant(nanoseconds: rondo_monotonic_now()) }

  @inline(__always)
  private func waitSet(of mode: ModeState) -> WaitSet {
    if mode.index < sets.count, let set = sets[mode.index] { return set }
    return makeWaitSet(of: mode)
  }

  private func makeWaitSet(of mode: ModeState) -> WaitSet {
    while sets.count <= mode.index { sets.append(nil) }
    let set = WaitSet(wakeup: wakeupDescriptor, timer: timerDescriptor)
    sets[mode.index] = set
    return set
  }

  @inline(__always)
  func wait(_ frame: RunFrame, until deadline: Instant, blocks: Bool) -> WaitOutcome {
    let selection = unsafe select(frame)
    let collection = unsafe selection.collection
    if blocks {
      arm(deadline)
      unsafe WaitSet.sleepInKernel(selection.base, collection)
    } else {
      unsafe WaitSet.look(selection.base, collection)
    }
    for index in 0..<Int(unsafe collection.pointee.count) {
      let record = unsafe collection.pointee.ready[index]
      let readiness = Loop.DescriptorSource.Readiness(rawValue: UInt8(truncatingIfNeeded: record.readiness))
      frame.ready.append(ReadyDescriptor(token: Token(record.token), readiness: readiness))
    }
    if unsafe collection.pointee.edges & UInt32(WaitSet.Edge.mainQueue) != 0 { frame.isMainQueueReady = true }
    return .looked
  }

  @inline(__always)
  private func select(_ frame: RunFrame) -> Selection {
    if let selected, unsafe selected.mode == frame.mode.index,
      unsafe selected.servesMainQueue == frame.servesMainQueue
    {
      return unsafe selected
    }
    return unsafe selectAnew(frame)
  }

  @inline(never)
  private func selectAnew(_ frame: RunFrame) -> Selection {
    let set = waitSet(of: frame.mode)
    set.watchMainQueue(frame.servesMainQueue)
    let selection = unsafe Selection(
      mode: frame.mode.index, servesMainQueue: frame.servesMainQueue, base: set.base, collection: set.collection)
    unsafe selected = selection
    return unsafe selection
  }

  /// A wait set's parts; its owner keeps them alive.
  @unsafe private struct Selection {
    let mode: Int
    let servesMainQueue: Bool
    let base: OpaquePointer
    let collection: UnsafeMutablePointer<rondo_collection>
  }

  /// Arms the timerfd unless it already is right: one timerfd_settime(2).
  @inline(__always)
  private func arm(_ deadline: Instant) {
    guard deadline != armedFor else { return }
    armedFor = deadline
    // 0 would disarm, and a negative time is an error: both mean a deadline long past.
    rondo_timerfd_arm(timerDescriptor, deadline == .distantFuture ? 0 : max(1, deadline.nanoseconds))
  }

  // MARK: - Descriptor sources

  func watch(
    _ source: Loop.DescriptorSource, in mode: ModeState, token: Token, others: () -> [Loop.DescriptorSource]
  ) {
    let wanted = source.enabled
    let place = source.watches.firstIndex { $0.mode == mode.index }
    if let place, source.watches[place].interest == wanted { return }
    if place == nil && wanted.isEmpty { return }
    let set = waitSet(of: mode)
    let isRegistered = place.map { !source.watches[$0].interest.isEmpty } ?? false
    if !isRegistered {
      guard checkIdentity(of: source) else { return }
      if set.watchCount(of: source.descriptor) > (place == nil ? 0 : 1) {
        checkSharing(source, in: mode, set, others())
        guard source.isValid else { return }
      }
    }
    let raw: UnsafeMutablePointer<rondo_watch>
    if let place {
      unsafe raw = source.watches[place].raw
      source.watches[place].interest = wanted
    } else {
      unsafe raw = rondo_watch_new(set.collection, token.packed)
      unsafe source.watches.append(DescriptorWatch(mode: mode.index, raw: raw, interest: wanted))
      set.countWatch(of: source.descriptor, 1)
    }
    let isShared = set.watchCount(of: source.descriptor) > 1
    let error = unsafe rondo_watch_set(
      raw, set.base, source.descriptor, flags(for: wanted, of: source, isShared: isShared), 0)
    if isShared && wanted == .closed { set.hasSharedCloseWatches = true }
    if error == 0 { return }
    if error == EBADF {
      source.invalidate(because: .descriptorClosed)
    } else if error == EINVAL && set.watchCount(of: source.descriptor) > 1 {
      source.invalidate(because: .mixedTriggers)
    } else {
      source.invalidate(because: .refused(errno: error))
    }
  }

  /// libevent's flags for what a source wants.
  ///
  /// An error, or a hang-up of both sides, reaches libevent as readable and writable, not as closed. A source that waits
  /// for the close alone therefore asks for reading too, and the loop asks the kernel which it was; edge-triggered, or
  /// unread data would be told for ever. Where others watch the descriptor, the trigger is theirs and so is the error.
  private func flags(
    for wanted: Loop.DescriptorSource.Readiness, of source: Loop.DescriptorSource, isShared: Bool
  ) -> CShort {
    if wanted.isEmpty { return 0 }
    if wanted == .closed && !isShared { return CShort(EV_READ | EV_CLOSED | EV_ET) }
    return source.trigger == .edge ? wanted.libeventFlags | CShort(EV_ET) : wanted.libeventFlags
  }

  func unwatch(_ source: Loop.DescriptorSource, in mode: ModeState) {
    guard let place = source.watches.firstIndex(where: { $0.mode == mode.index }) else { return }
    let watch = source.watches.remove(at: place)
    let set = waitSet(of: mode)
    if (try? FileIdentity(of: source.descriptor)) != source.identity { set.mayHaveOrphans = true }
    defer { needsMending = needsMending || set.mayHaveOrphans || set.mayHaveLoneCloseWatches }
    unsafe rondo_watch_free(watch.raw)
    set.countWatch(of: source.descriptor, -1)
    if set.hasSharedCloseWatches { set.mayHaveLoneCloseWatches = true }
  }

  /// Whether the descriptor still stands for the file the source was made for; invalidates the source if not.
  private func checkIdentity(of source: Loop.DescriptorSource) -> Bool {
    if let identity = try? FileIdentity(of: source.descriptor), identity == source.identity { return true }
    source.invalidate(because: .descriptorClosed)
    return false
  }

  /// Another source has watched the same number: if the file behind it has changed since, that source has to go, and
  /// libevent, which believes the number to be registered, has to register it again.
  private func checkSharing(
    _ source: Loop.DescriptorSource, in mode: ModeState, _ set: WaitSet, _ others: [Loop.DescriptorSource]
  ) {
    for other in others where other !== source && other.descriptor == source.descriptor {
      guard let watch = other.watches.first(where: { $0.mode == mode.index }) else { continue }
      if other.identity != source.identity {
        other.invalidate(because: .descriptorClosed)
      } else if !other.identity.isUnique {
        // Look-alikes: only a fresh registration is sure to be for the file that is open now.
        if !watch.interest.isEmpty { unsafe rondo_watch_again(watch.raw) }
      }
      if other.isValid, watch.interest == .closed {
        let flags = flags(for: .closed, of: other, isShared: true)
        _ = unsafe rondo_watch_set(watch.raw, set.base, other.descriptor, flags, 0)
        set.hasSharedCloseWatches = true
      }
      if other.isValid, other.trigger != source.trigger, !watch.interest.isEmpty {
        return source.invalidate(because: .mixedTriggers)
      }
    }
  }

  /// Makes the mode's wait set anew if a descriptor closed behind the loop's back may have stayed in it.
  ///
  /// The kernel keeps reporting a closed descriptor while a duplicate is open, and can no longer be told to stop.
  @inline(__always)
  func mend(_ mode: ModeState, sources: () -> [(Loop.DescriptorSource, Token)]) {
    if needsMending { mendNow(mode, sources: sources) }
  }

  @inline(never)
  private func mendNow(_ mode: ModeState, sources: () -> [(Loop.DescriptorSource, Token)]) {
    defer { needsMending = sets.contains { $0.map { $0.mayHaveOrphans || $0.mayHaveLoneCloseWatches } ?? false } }
    guard mode.index < sets.count, let set = sets[mode.index] else { return }
    if set.mayHaveLoneCloseWatches { rearmLoneCloseWatches(of: mode, set, sources()) }
    guard set.mayHaveOrphans else { return }
    let watched = sources()
    for (source, _) in watched {
      guard let place = source.watches.firstIndex(where: { $0.mode == mode.index }) else { continue }
      unsafe rondo_watch_free(source.watches.remove(at: place).raw)
    }
    sets[mode.index] = nil
    selected = nil
    for (source, token) in watched { watch(source, in: mode, token: token) { watched.map(\.0) } }
  }

  /// Sources that wait for the close alone have lost the company that would have told of an error.
  private func rearmLoneCloseWatches(
    of mode: ModeState, _ set: WaitSet, _ sources: [(Loop.DescriptorSource, Token)]
  ) {
    set.mayHaveLoneCloseWatches = false
    for (source, _) in sources where set.watchCount(of: source.descriptor) == 1 {
      guard let watch = source.watches.first(where: { $0.mode == mode.index }), watch.interest == .closed else {
        continue
      }
      let flags = flags(for: .closed, of: source, isShared: false)
      _ = unsafe rondo_watch_set(watch.raw, set.base, source.descriptor, flags, 0)
    }
  }

  func close() {
    selected = nil
    sets = []
    _ = Glibc.close(timerDescriptor)
  }
}
