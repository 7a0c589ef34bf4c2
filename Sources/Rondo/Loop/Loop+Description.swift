extension Loop: CustomStringConvertible {
  /// Whose loop it is and what it does, for people. Any thread. See CFCopyDescription.
  ///
  /// As it was at some moment of the call. The text is no part of a version.
  public var description: String {
    let work =
      switch currentMode {
      case nil: "not running"
      case let mode?: "\(isWaiting ? "asleep" : "at work") in \(mode.text)"
      }
    return "\(isVirtual ? "a virtual loop" : "the loop") of \(thread), \(work)"
  }
}
