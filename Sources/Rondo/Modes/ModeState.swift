import Synchronization

/// What a mode holds, as the loop's thread knows it. *loop thread*
@safe final class ModeState {
  /// *constant*
  let index: Int
  /// *constant* `1 << index`.
  let bit: UInt64
  /// Whether the mode is common, as far as mail has been applied.
  @safe @exclusivity(unchecked) var isCommon: Bool
  /// Sorted by order, then insertion. A phase walks a copy, so a callout may change it.
  @safe @exclusivity(unchecked) private(set) var observers: ContiguousArray<ObserverEntry> = []
  /// The union of the observers' activities.
  @safe @exclusivity(unchecked) private(set) var activities: Loop.Activity = []
  @safe @exclusivity(unchecked) var timers: TimerQueue
  /// Attachments whose source was signalled and may not have been served yet. The slot table owns them.
  @safe @exclusivity(unchecked) var signalled: ContiguousArray<Unmanaged<SourceAttachment>> = unsafe []
  /// Descriptor sources whose watch must change before the next wait in this mode.
  @safe @exclusivity(unchecked) var dirtyDescriptors: ContiguousArray<Loop.DescriptorSource> = []
  /// Edge-triggered descriptors that were collected but not told: the kernel will not repeat them.
  @safe @exclusivity(unchecked) var carriedDescriptors: ContiguousArray<Loop.DescriptorSource> = []
  /// How many sources, descriptor sources and timers keep the mode from being empty.
  @safe @exclusivity(unchecked) var itemCount = 0
  /// How many descriptor sources ask for an order other than 0.
  @safe @exclusivity(unchecked) var orderedDescriptorCount = 0

  /// Frames of runs that are over, for the next.
  @safe @exclusivity(unchecked) var spareFrames: [RunFrame] = []

  /// *atomic* The date of the mode's next timer when the loop last went to sleep in it.
  let publishedFireDate = Atomic<Int64>(.max)

  struct ObserverEntry {
    let observer: Loop.Observer
    let activities: Loop.Activity
  }

  init(index: Int, isCommon: Bool) {
    self.index = index
    self.bit = 1 << UInt64(index)
    self.isCommon = isCommon
    timers = TimerQueue(bit: 1 << UInt64(index))
  }

  /// Lets other threads know when the mode's next timer fires.
  @inline(__always)
  func publishFireDate(_ date: Instant) {
    publishedFireDate.store(date.nanoseconds, ordering: .relaxed)
  }

  func insert(_ observer: Loop.Observer) {
    let place = observers.firstIndex { $0.observer.order > observer.order } ?? observers.count
    observers.insert(ObserverEntry(observer: observer, activities: observer.activities), at: place)
    activities.formUnion(observer.activities)
  }

  func remove(_ observer: Loop.Observer) {
    observers.removeAll { $0.observer === observer }
    activities = observers.reduce(into: []) { $0.formUnion($1.activities) }
  }
}
