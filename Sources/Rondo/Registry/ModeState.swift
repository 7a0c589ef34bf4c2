import Synchronization

/// What a mode holds, as the loop's thread knows it. *loop thread*
@safe final class ModeState {
  /// *constant*
  let index: Int
  /// The index as a bit of a set.
  var bit: UInt64 { 1 &<< UInt64(truncatingIfNeeded: index) }
  /// Nil until the mode is run, if its index was another mode's before.
  @safe @exclusivity(unchecked) var name: Loop.Mode?
  /// Whether the mode is common, as far as mail has been applied.
  @safe @exclusivity(unchecked) var isCommon: Bool
  @safe @exclusivity(unchecked) private(set) var hasOthers = false
  /// *constant* The group of timers that wait for runs of this mode alone.
  let own: GroupNumber
  /// What a turn of the mode has to do but for timers, and what the loop has to do for it.
  @safe @exclusivity(unchecked) private(set) var agenda = Agenda()
  @safe @exclusivity(unchecked) var observers = ObserverList() { didSet { agenda.note(observers.activities) } }
  /// The other groups that runs of the mode serve.
  @safe @exclusivity(unchecked) var others: ContiguousArray<GroupNumber> = [] { didSet { hasOthers = !others.isEmpty } }
  /// Attachments whose source was signalled and may not have been served yet.
  @safe @exclusivity(unchecked) var signalled = TokenList() { didSet { agenda.note(.signalled, !signalled.isEmpty) } }
  /// Descriptor sources whose watch must change before the next wait in this mode.
  @safe @exclusivity(unchecked) var dirtyDescriptors = TokenList() {
    didSet { agenda.note(.dirty, !dirtyDescriptors.isEmpty) }
  }
  /// What this mode's waits collected and no source was called for yet, where the kernel will not repeat it.
  @safe @exclusivity(unchecked) var carriedDescriptors: ContiguousArray<ReadyDescriptor> = [] {
    didSet { agenda.note(.carried, !carriedDescriptors.isEmpty) }
  }
  /// How many sources and descriptor sources keep the mode from being empty. Timers are counted by their groups.
  @safe @exclusivity(unchecked) var itemCount = 0
  /// How many descriptor sources ask for an order other than 0.
  @safe @exclusivity(unchecked) var orderedDescriptorCount = 0

  /// Frames for runs of the mode: as many as have been nested in each other. They stay until the loop ends.
  @safe @exclusivity(unchecked) private var frames: ContiguousArray<RunFrame> = []
  /// How many runs of the mode are under way.
  @safe @exclusivity(unchecked) private var runCount = 0

  /// *atomic* The date of the mode's next timer when the loop last went to sleep in it.
  let publishedFireDate = Atomic<Int64>(.max)

  init(index: Int, name: Loop.Mode?, isCommon: Bool, own: GroupNumber) {
    self.index = index
    self.name = name
    self.own = own
    self.isCommon = isCommon
  }

  /// The groups that runs of the mode serve.
  var groups: ContiguousArray<GroupNumber> { [own] + others }

  /// The frame for another run of the mode, until `runEnded()`. The mode keeps it.
  @inline(__always)
  func frameForRun() -> Unmanaged<RunFrame> {
    let place = runCount
    if place == frames.count { frames.append(RunFrame(mode: self)) }
    runCount = place &+ 1
    return unsafe Unmanaged.passUnretained(frames[place])
  }

  @inline(__always)
  func runEnded() {
    runCount &-= 1
  }

  /// Whether no run of the mode is under way, and nothing is in it but for timers, not even observers.
  var isUnused: Bool {
    runCount == 0 && itemCount == 0 && others.isEmpty && observers.count == 0 && carriedDescriptors.isEmpty
  }

  /// Whether a turn of the mode has ever begun.
  var wasRun: Bool { !frames.isEmpty }

  /// The loop ends: frames and mode keep each other.
  func dropFrames() {
    frames = []
  }

  /// Lets other threads know when the mode's next timer fires.
  @inline(__always)
  func publishFireDate(_ date: Instant) {
    publishedFireDate.store(date.nanoseconds, ordering: .relaxed)
  }
}

/// The number of a `TimerGroup`.
typealias GroupNumber = UInt16

extension ModeSet {
  @inline(__always)
  func contains(_ mode: ModeState) -> Bool {
    modes & mode.bit != 0 || (isCommon && mode.isCommon)
  }
}
