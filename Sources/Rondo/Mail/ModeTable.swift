/// A loop's mode names, their indices, and which of them are common. *mailbox lock*
struct ModeTable {
  /// By index; nil where a mode was given back.
  private(set) var names: [Loop.Mode?] = [.default]
  /// But for the default mode, which most loops have alone.
  private var indices: [Loop.Mode: Int] = [:]
  /// Names made common before their mode existed.
  private var awaitedCommonNames: Set<Loop.Mode> = []
  /// One bit for each mode that was given back, and whose index is taken next.
  private var free: UInt64 = 0
  /// One bit for each mode that stays: it has an index outside of this lock and of the loop's thread.
  private(set) var pinned: UInt64 = 1
  /// One bit for each common mode.
  private(set) var common: UInt64 = 1

  /// One bit for each mode: CFRunLoop has no limit, a mask of memberships has this one.
  static let capacity = 64

  func index(of mode: Loop.Mode) -> Int? {
    mode == .default ? 0 : indices[mode]
  }

  /// The mode's index, made if need be.
  mutating func makeIndex(of mode: Loop.Mode) -> Int {
    if let index = index(of: mode) { return index }
    let isAwaited = awaitedCommonNames.remove(mode) != nil
    if !isAwaited { checkRoom(for: mode) }
    let index = free == 0 ? names.count : free.trailingZeroBitCount
    if free == 0 { names.append(mode) } else { names[index] = mode }
    free &= ~(1 << UInt64(index))
    indices[mode] = index
    if isAwaited { common |= 1 << UInt64(index) }
    return index
  }

  /// Whether the mode is known, or one more can be.
  func hasRoom(for mode: Loop.Mode) -> Bool {
    names.count - free.nonzeroBitCount + awaitedCommonNames.count < Self.capacity || index(of: mode) != nil
      || awaitedCommonNames.contains(mode)
  }

  /// Has modes stay: another thread, an executor or a host refers to them by index.
  mutating func pin(_ modes: UInt64) { pinned |= modes }

  /// Gives a mode back. The loop's thread, for a mode that has nothing and is not run.
  mutating func giveBack(_ index: Int) {
    indices[names[index]!] = nil
    names[index] = nil
    free |= 1 << UInt64(index)
  }

  /// Ends the process without room for `mode`. Names made common count: the first common item makes their modes.
  private func checkRoom(for mode: Loop.Mode) {
    require(
      hasRoom(for: mode),
      "A loop has room for \(Self.capacity) modes and mode '\(mode)' would be one more. Reuse the names of modes.")
  }

  /// Makes the modes that were made common before they existed: an item joins the common set.
  mutating func makeAwaitedModes() {
    for mode in awaitedCommonNames.sorted(by: { $0.rawValue < $1.rawValue }) { _ = makeIndex(of: mode) }
  }

  func isCommon(_ mode: Loop.Mode) -> Bool {
    if let index = index(of: mode) { return common & (1 << UInt64(index)) != 0 }
    return awaitedCommonNames.contains(mode)
  }

  /// Makes a mode common.
  ///
  /// - Parameter creates: Whether the mode shall exist afterwards; CF creates it only for the common items' sake.
  /// - Returns: The index of a mode that became common and exists.
  mutating func makeCommon(_ mode: Loop.Mode, creates: Bool) -> Int? {
    guard !isCommon(mode) else { return nil }
    guard creates || index(of: mode) != nil else {
      checkRoom(for: mode)
      awaitedCommonNames.insert(mode)
      return nil
    }
    let index = makeIndex(of: mode)
    common |= 1 << UInt64(index)
    return index
  }
}
