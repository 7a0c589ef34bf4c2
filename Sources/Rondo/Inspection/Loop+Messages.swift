extension Loop {
  /// Sets the function that receives the library's messages. Any thread.
  ///
  /// A message is one sentence or more, without a line's end: a fault of the environment that no call could return, or in
  /// debug builds a mistake of the program. Most are said once in a process.
  ///
  /// ```swift
  /// Loop.setMessageHandler { log.note($0) }
  /// ```
  ///
  /// - Parameter handler: Called on any thread, perhaps in the middle of a turn: it may not run a loop, and should not
  ///   wait. With nil, messages are lines on standard error that begin with "Rondo: ". A line is left out while a
  ///   write would block.
  public static func setMessageHandler(_ handler: (@Sendable (String) -> Void)?) {
    // The one before is released outside of the lock.
    _ = messageHandler.withLock { present in
      defer { present = handler }
      return present
    }
  }
}
