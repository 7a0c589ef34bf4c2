extension Loop {
  /// The loop's thread and its state, in one line. Any thread.
  package var summary: String {
    let work =
      switch currentMode {
      case nil: "not running"
      case let mode?: "\(isWaiting ? "asleep" : "at work") in \(mode.text)"
      }
    return "\(isVirtual ? "a virtual loop" : "the loop") of \(thread), \(work)"
  }
}
