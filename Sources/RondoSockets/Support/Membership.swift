package import Rondo

/// Which loop and modes something is meant to be in, whose items follow. *its owner's lock*
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
}
