/// What products above the core ask about the thread of a loop, and its process.
extension Loop {
  /// Whether the loop has ended with its thread. Any thread.
  package var hasEnded: Bool { mailbox.life == .ended }

  /// The calling thread's loop, made on first use, for a caller that can be told that there are no descriptors for it.
  @available(*, noasync)
  package static func makeCurrent() throws(DescriptorShortage) -> Loop {
    let thread = ThreadRecord.current
    if let loop = thread.virtualLoop { return loop }
    return try thread.makeOwnLoop()
  }

  /// The same for the main thread's, from any thread.
  package static func makeMain() throws(DescriptorShortage) -> Loop {
    try ThreadRecord.main.makeOwnLoop()
  }

  /// Whether this is no forked child of the process that made the loop. Any thread.
  package var isOfThisProcess: Bool { thread.isOfThisProcess }

  /// Whether the process that made the loop is the forked child of one that used loops. Any thread.
  package var isOfForkedChild: Bool { thread.generation > 0 }

  /// Whether the loop's thread is the main one, also of a loop in virtual time. Any thread.
  package var isOfMainThread: Bool { thread.isMain }

  /// Tells the calling thread's present loop from every other one that lives; 0 if there is none. Takes no lock.
  package static var identityOfCurrent: UInt {
    UInt(bitPattern: unsafe ThreadRecord.loopAddress)
  }
}
