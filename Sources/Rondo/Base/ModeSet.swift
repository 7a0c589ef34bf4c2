/// Modes of one loop: some by index, and those that are common when it is asked.
struct ModeSet: Equatable {
  /// One bit for each.
  var modes: UInt64
  /// Whether the common modes, whichever they are, belong to it.
  var isCommon: Bool

  /// The default mode.
  static var `default`: ModeSet { ModeSet(modes: 1, isCommon: false) }
  /// Every mode, and the common set.
  static var all: ModeSet { ModeSet(modes: .max, isCommon: true) }
}
