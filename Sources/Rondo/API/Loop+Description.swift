extension Loop: CustomStringConvertible {
  /// The loop's thread and its state, for people. Any thread. See CFCopyDescription.
  ///
  /// The text is a snapshot. It may change between versions.
  public var description: String {
    let work =
      switch currentMode {
      case nil: "not running"
      case let mode?: "\(isWaiting ? "asleep" : "at work") in \(mode.text)"
      }
    return "\(isVirtual ? "a virtual loop" : "the loop") of \(thread), \(work)"
  }
}
