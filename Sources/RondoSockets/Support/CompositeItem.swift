package import Rondo

/// An item of a loop, or several that enter its modes and leave them as one. Any thread.
package protocol LoopMember: AnyObject {
  var isValid: Bool { get }
  @discardableResult
  func join(_ loop: Loop, _ mode: Loop.Mode) -> Bool
  func leave(_ loop: Loop, _ mode: Loop.Mode)
  func invalidate()
}

extension Loop.Item: LoopMember {
  @discardableResult
  package func join(_ loop: Loop, _ mode: Loop.Mode) -> Bool { loop.add(self, to: mode) }
  package func leave(_ loop: Loop, _ mode: Loop.Mode) { loop.remove(self, from: mode) }
}

/// The state of a composite item. *its owner's lock*
package protocol CompositeState {
  var membership: Membership { get set }
  /// The members that were made, by the one that enters first. The end of the loop invalidates them.
  var members: [(any LoopMember)?] { get }
  /// Forgets the members that are made for each loop.
  ///
  /// - Returns: Those members, to be invalidated when nothing is held. A thread that is about to add one then fails.
  mutating func forget() -> [(any LoopMember)?]
}

/// Several members of a loop as one: in a mode are all of them or none.
///
/// Adding to a loop and removing from one may run a user's code, which may touch this item, so nothing is held for them:
/// a thread that changes the intention brings the members in line with it afterwards, and looks again until it has not
/// changed.
package protocol CompositeItem: LoopMember {
  associatedtype State: CompositeState
  var state: Guarded<State> { get }
  /// The members that a loop always has, made if need be; none if this is invalid. Under the lock.
  func enter(_ state: inout State) -> [any LoopMember]
  /// The members beside those of the state. Nothing is held.
  ///
  /// - Parameter making: Whether those that are missing are made.
  func others(making: Bool) -> [(any LoopMember)?]
  /// The members are in a mode, unless that was taken back. Nothing is held. Calls out.
  func didJoin()
}

extension CompositeState {
  fileprivate mutating func leaveAll() -> [(any LoopMember)?] {
    membership.leaveAll()
    return forget()
  }
}

extension CompositeItem {
  package func others(making: Bool) -> [(any LoopMember)?] { [] }
  package func didJoin() {}

  /// Adds the members to a mode. Nothing may be held. Calls out.
  ///
  /// - Returns: Whether this is a member afterwards: false if it is invalid, in another loop, or the loop has ended.
  @discardableResult
  package func join(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    let (entering, stale) = state.withLock { state -> ([any LoopMember], [(any LoopMember)?]) in
      // The loop may have ended.
      let isIn = state.membership.loop != nil && state.members.first??.isValid == true
      let stale = isIn ? [] : state.leaveAll()
      if let present = state.membership.loop, present !== loop { return ([], stale) }
      let entering = enter(&state)
      if !entering.isEmpty { state.membership.join(loop, mode) }
      return (entering, stale)
    }
    for member in stale { member?.invalidate() }
    guard let first = entering.first else { return false }
    guard first.join(loop, mode) else {
      // The loop is gone, or still has the member's predecessor.
      leave(loop, mode)
      return false
    }
    settle(loop, mode)
    didJoin()
    return withExtendedLifetime(entering) { state.withLock { $0.membership.contains(loop, mode) } }
  }

  /// Removes the members from a mode. Nothing may be held. Calls out.
  package func leave(_ loop: Loop, _ mode: Loop.Mode) {
    let left = state.withLock { state -> [(any LoopMember)?]? in
      guard state.membership.loop === loop else { return nil }
      return state.membership.leave(mode) ? state.forget() : []
    }
    guard let left else { return }
    for member in left { member?.invalidate() }
    settle(loop, mode)
  }

  /// Brings the members in line in one mode of a loop. Calls out.
  private func settle(_ loop: Loop, _ mode: Loop.Mode) {
    var wanted = state.withLock { $0.membership }
    while true {
      let isMember = wanted.contains(loop, mode)
      for case let member? in state.withLock({ $0.members }) + others(making: isMember) {
        if isMember { member.join(loop, mode) } else { member.leave(loop, mode) }
      }
      let version = wanted.version
      wanted = state.withLock { $0.membership }
      if wanted.version == version { return }
    }
  }

  /// Puts a new member where this is meant to be. Nothing may be held. Calls out.
  package func place(_ member: any LoopMember) {
    var wanted = state.withLock { $0.membership }
    var present: (loop: Loop, modes: [Loop.Mode])?
    while true {
      if let present {
        for mode in present.modes where !wanted.contains(present.loop, mode) { member.leave(present.loop, mode) }
      }
      present = wanted.loop.map { ($0, wanted.modes) }
      if let present { for mode in present.modes { member.join(present.loop, mode) } }
      let version = wanted.version
      wanted = state.withLock { $0.membership }
      if wanted.version == version { return }
    }
  }
}
