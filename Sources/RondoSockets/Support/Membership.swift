package import Rondo

/// Which loop and modes something is meant to be in, whose items follow. *its owner's lock*
///
/// Adding to a loop and removing from one may run a user's code, so the lock is not held for them: a thread that
/// changes the intention brings the items in line with it afterwards, and looks again until it has not changed.
package struct Membership {
  package private(set) weak var loop: Loop?
  /// `.common` by that name. Most are in one mode, which takes no memory of its own.
  private var first: Loop.Mode?
  private var others: [Loop.Mode] = []
  /// Another one after each change.
  package private(set) var version = 0

  package init() {}

  package var modes: [Loop.Mode] { first.map { [$0] + others } ?? [] }

  private mutating func setModes(_ modes: [Loop.Mode]) {
    (first, others) = (modes.first, Array(modes.dropFirst()))
  }

  package mutating func join(_ loop: Loop, _ mode: Loop.Mode) {
    version += 1
    if self.loop !== loop { setModes([]) }
    self.loop = loop
    if !isIn(mode) { setModes(modes + [mode]) }
  }

  /// - Returns: Whether that was the last mode.
  package mutating func leave(_ mode: Loop.Mode) -> Bool {
    version += 1
    setModes(modes.filter { $0 != mode })
    if first == nil { loop = nil }
    return first == nil
  }

  package mutating func leaveAll() {
    version += 1
    setModes([])
    loop = nil
  }

  package func contains(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    self.loop === loop && isIn(mode)
  }

  private func isIn(_ mode: Loop.Mode) -> Bool { first == mode || others.contains(mode) }

  /// Brings everything in line in one mode of a loop. Nothing may be held. Calls out.
  ///
  /// - Parameters:
  ///   - look: The intention.
  ///   - bring: Puts everything into the mode, or takes it out.
  package static func settle(
    _ loop: Loop, _ mode: Loop.Mode, _ look: () -> Membership, _ bring: (_ isMember: Bool) -> Void
  ) {
    var wanted = look()
    while true {
      let version = wanted.version
      bring(wanted.contains(loop, mode))
      wanted = look()
      if wanted.version == version { return }
    }
  }

  /// Puts something new where it is meant to be. Nothing may be held. Calls out.
  package static func place(
    _ look: () -> Membership, adding add: (Loop, Loop.Mode) -> Void, removing remove: (Loop, Loop.Mode) -> Void
  ) {
    var wanted = look()
    var present: (loop: Loop, modes: [Loop.Mode])?
    while true {
      if let present {
        for mode in present.modes where !wanted.contains(present.loop, mode) { remove(present.loop, mode) }
      }
      present = wanted.loop.map { ($0, wanted.modes) }
      if let present { for mode in present.modes { add(present.loop, mode) } }
      let version = wanted.version
      wanted = look()
      if wanted.version == version { return }
    }
  }

  package static func place(_ item: Loop.Item, _ look: () -> Membership) {
    place(look, adding: { $0.add(item, to: $1) }, removing: { $0.remove(item, from: $1) })
  }
}
