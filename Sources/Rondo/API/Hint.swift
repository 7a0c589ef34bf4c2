import CLinux
import Glibc

/// What a debug build says on stderr of what does nothing and is likely a mistake. A release build says none of it, and
/// pays nothing for it.
package enum Hint {
  /// Whether this is a debug build, which the compiler knows.
  @inlinable
  package static var isOn: Bool { _isDebugAssertConfiguration() }

  /// *its own lock* The subjects of which something was said.
  private static let said = PerProcess<Set<String>>([])
  /// A program that makes more mistakes than these has seen enough. Chosen.
  private static let most = 32

  /// Says it once in a process for each subject. Any thread; says nothing if a write to stderr would block.
  @inline(never)
  package static func say(of subject: String, _ text: String) {
    let isNew = said.withLock { $0.count < most && $0.insert(subject).inserted }
    if isNew { warn(text) }
  }
}

// MARK: - Items

extension Loop.Item {
  /// What the item was made as: in `deinit`, its subclass's part has been destroyed already.
  fileprivate var kindName: String {
    switch kind {
    case .observer: "observer"
    case .source: "source"
    case .descriptor: "descriptor source"
    case .timer: "timer"
    }
  }

  /// Says that the item, which is being freed, was never added to a loop.
  func hintAtNeverAdded() {
    Hint.say(of: name, "The \(kindName) \(name) was freed and never added to a loop. Add it to one, which keeps it.")
  }

  /// Says why `loop` refuses the item, where that is a mistake at any time.
  ///
  /// That a loop has ended is not: it is what happens to others when a program ends. Nor is an item that has been removed
  /// from its loop, whose thread has yet to look.
  func hintAtRefusal(by loop: Loop) {
    switch loop.refusal(of: self) {
    case .itemIsInvalid:
      Hint.say(
        of: name,
        """
        The \(kindName) \(name) is invalid, and was not added to a loop. One that was invalidated is over, and so is a \
        one-shot that has fired: make a new one.
        """)
    case .itemIsElsewhere where !membership.withLock { isUnregistered }:
      Hint.say(
        of: name,
        """
        The \(kindName) \(name) is in another loop, and was not added to a second one. Remove it from the first, or make \
        one for each.
        """)
    default: break
    }
  }
}

extension Label {
  /// Whether the place is in a module of this package.
  var isOfRondo: Bool {
    guard let module = text?.prefix(while: { $0 != "/" }), module.hasPrefix("Rondo") else { return false }
    let products = [
      "", "Async", "C", "CF", "Daemon", "Foundation", "Guests", "Inspect", "Log", "Main", "Metrics", "Ports",
      "ServiceLifecycle", "Sockets", "TLS", "Testing",
    ]
    return products.contains(String(module.dropFirst("Rondo".count)))
  }
}

// MARK: - Modes

extension Loop {
  /// Says that a run of `mode` finds nothing, if the loop has another mode that looks like the one that was meant.
  func hintAtUnknownMode(_ mode: Mode) {
    let meant = mailbox.withLock { $0.modes.likelyMeant(by: mode) }
    guard let meant else { return }
    Hint.say(
      of: "mode \(mode.rawValue)",
      "A run in mode '\(mode.rawValue)' finished at once, for nothing was added to it. Did you mean \(meant)?")
  }

  /// Says that a mode is made whose name looks like another one's. In debug builds alone.
  func hintAtNewMode(_ mode: Mode) {
    guard Hint.isOn else { return }
    let meant = mailbox.withLock { $0.modes.likelyMeant(by: mode) }
    guard let meant else { return }
    Hint.say(
      of: "mode \(mode.rawValue)",
      "A mode '\(mode.rawValue)' is made, which runs of other modes do not serve. Did you mean \(meant)?")
  }
}

extension ModeTable {
  /// The mode that the caller likely meant by this name, if the name looks misspelt.
  fileprivate func likelyMeant(by mode: Loop.Mode) -> String? {
    switch mode.rawValue.lowercased() {
    case "default", "nsdefaultrunloopmode": return "Loop.Mode.default"
    case "common", "nsrunloopcommonmodes": return "Loop.Mode.common"
    default: break
    }
    return names.compactMap { $0 }.first { $0.isLikelyMeant(by: mode) }.map { "'\($0.rawValue)'" }
  }
}

extension Loop.Mode {
  /// Whether the names differ in case alone, or by one slip of the finger inside a word.
  ///
  /// Numbers, single letters, capitals and the ends of names are what programs tell their modes apart by.
  func isLikelyMeant(by other: Loop.Mode) -> Bool {
    let (own, its) = (Array(rawValue), Array(other.rawValue))
    guard self != other, min(own.count, its.count) >= 5 else { return false }
    if rawValue.lowercased() == other.rawValue.lowercased() { return true }
    let (longer, shorter) = own.count >= its.count ? (own, its) : (its, own)
    guard longer.count - shorter.count <= 1 else { return false }
    let first = zip(longer, shorter).prefix { $0 == $1 }.count
    let rest = longer.count - first - zip(longer.reversed(), shorter.reversed()).prefix { $0 == $1 }.count
    func isInside(_ place: Int) -> Bool {
      place > 0 && place < longer.count - 1
        && longer[place - 1...place + 1].allSatisfy { $0.isLetter && $0.isLowercase }
    }
    if longer.count > shorter.count { return rest <= 1 && isInside(first) }
    if rest == 1 { return isInside(first) && shorter[first].isLowercase }
    return rest == 2 && isInside(first) && longer[first] == shorter[first + 1] && longer[first + 1] == shorter[first]
  }
}

// MARK: - Timeouts

extension LoopCore {
  /// Says that a timeout was armed which cannot fire. After the loop's end that is every timeout.
  @inline(never)
  func hintAtStale(_ timeout: Loop.Timeout) {
    if timers.isClosed { return }
    Hint.say(
      of: timeout.loop == timers.number ? "discarded timeout" : "foreign timeout",
      timeout.loop == timers.number
        ? "A timeout was armed that has been discarded: it never fires, and arm() returned false. Make another."
        : "A timeout was armed that is another loop's: it does not fire, and arm() returned false. Ask the loop that made it."
    )
  }
}
