/// What products above the core keep with a loop.
extension Loop {
  /// The object of this type that an upper floor keeps with the loop, made on first use. Any thread.
  ///
  /// The loop lets go of it in the last line of its end, so that whatever its end calls finds it. A loop that has ended
  /// keeps none, but for the main thread's: that one stays, and is asked for by others.
  package func companion<Object: AnyObject>(_ make: () -> Object) -> Object {
    if let found: Object = mailbox.withLock({ $0.companion() }) { return found }
    let made = make()
    return mailbox.withLock { state in
      if let found: Object = state.companion() { return found }
      if mailbox.life != .ended || thread.isMain { state.companions.append(made) }
      return made
    }
  }
}

extension MailboxState {
  fileprivate func companion<Object: AnyObject>() -> Object? {
    for object in companions { if let found = object as? Object { return found } }
    return nil
  }
}
