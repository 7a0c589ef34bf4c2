import Rondo

/// A CFRunLoopSource: one that is signalled, or one that stands for a port.
class SourceObject: ItemObject, @unchecked Sendable {
  /// *constant*
  final let order: Int

  init(order: Int) {
    self.order = order
  }

  override class var typeID: UInt { 37 }

  override final var text: String {
    "\(head("CFRunLoopSource")){valid = \(isValid ? "Yes" : "No"), \(about)}"
  }

  /// What its description says of it.
  var about: String { "order = \(order)" }

  func add(to loop: Loop, _ mode: Loop.Mode) {}
  func remove(from loop: Loop, _ mode: Loop.Mode) {}
  func contains(in loop: Loop, _ mode: Loop.Mode) -> Bool { false }
  func signal() {}

  /// What equal sources have in common. Calls out, once.
  var contextHash: UInt { hashCode }

  /// Adds it, unless a source equal to it is there. Calls out.
  final func add(to runLoop: RunLoopObject, _ mode: Loop.Mode) {
    guard isValid, runLoop.admits(mode), runLoop.member(equalTo: self, in: mode) == nil else { return }
    add(to: runLoop.loop, mode)
    runLoop.settle(self)
  }

  /// Takes it out, or the one equal to it that is there. Calls out.
  final func remove(from runLoop: RunLoopObject, _ mode: Loop.Mode) {
    guard let member = runLoop.member(equalTo: self, in: mode) else { return }
    member.remove(from: runLoop.loop, mode)
    runLoop.settle(member)
  }
}
