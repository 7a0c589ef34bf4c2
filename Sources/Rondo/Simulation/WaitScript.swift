package import CLinux
import Synchronization

/// What passes the time of a loop in virtual time: `RondoTesting` has it. The loop's thread, but for the clock.
package protocol WaitScript: AnyObject {
  /// The clock. Any thread.
  var now: Instant { get }

  /// Moves the clock until something is ready or `deadline` has come; or polls, if `blocks` is false.
  ///
  /// - Returns: False if nothing is left that could end the sleep. The run ends.
  func wait(_ turn: ScriptedTurn, until deadline: Instant, blocks: Bool) -> Bool

  /// Whether `choose(among:_:)` may take another order than the documented one.
  var isSeeded: Bool { get }

  /// Which of so many things goes first, where the contract leaves their order open; 0 is the documented one.
  ///
  /// - Parameter name: What one of them is called.
  func choose(among count: Int, _ name: StaticString) -> Int

  /// A descriptor source wants something in a mode, by its bit, or wants something else than before.
  func watch(_ source: Loop.DescriptorSource, in mode: UInt64)

  /// It is in the mode no more.
  func unwatch(_ source: Loop.DescriptorSource, in mode: UInt64)

  /// Answers a system call without a descriptor, such as one that makes one; -ENOSYS to have the kernel answer it.
  func call(_ call: rondo_call, _ first: Int, _ second: Int) -> Int

  /// Looks up the addresses of a host's name, as text, and calls `answer` later, or never.
  ///
  /// - Returns: False to have the system look it up.
  func lookUp(_ host: String, _ answer: @escaping (SimulatedAddresses) -> Void) -> Bool

  /// Drops what has not happened: the loop ends.
  func close()
}

/// What a simulation says of a host's name.
package enum SimulatedAddresses {
  /// Its addresses as text; none if there is no such host.
  case found([String])
  /// The name servers do not reply.
  case unavailable
}

/// The turn that waits by a script. Not to be kept.
package struct ScriptedTurn {
  fileprivate let frame: RunFrame
  fileprivate let core: LoopCore

  /// The bit of the mode that is waited in.
  package var mode: UInt64 { frame.mode.bit }

  /// The date of the mode's next timer, which a turn before its wake date fires, too.
  package var fireDate: Instant { Instant(nanoseconds: frame.mode.publishedFireDate.load(ordering: .relaxed)) }

  /// Whether another run of the loop is under way, in which this one is nested.
  package var isNested: Bool { core.frames.dropFirst().contains { _ in true } }

  /// Whether readiness has been collected.
  package var isReady: Bool { !frame.ready.isEmpty }

  /// The loop's descriptor sources, of all modes.
  package var sources: [Loop.DescriptorSource] {
    core.slots.all.filter { $0.item.kind == .descriptor }.map { downcast($0.item, to: Loop.DescriptorSource.self) }
  }

  /// Collects readiness of a source.
  ///
  /// - Returns: Whether the source is in the mode of the wait, and wants to hear of it.
  package func collect(_ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness) -> Bool {
    let wanted = readiness.intersection(source.enabled)
    guard !wanted.isEmpty, source.isIn(core.loop), let token = core.slots.token(of: source),
      core.slots[token].installed & frame.mode.bit != 0
    else { return false }
    frame.ready.append(ReadyDescriptor(token: token, readiness: wanted))
    return true
  }
}

/// Waiting in virtual time. *loop thread*
final class ScriptedWait {
  /// *constant*
  let script: any WaitScript
  /// *constant* once set
  unowned var core: LoopCore!

  init(_ script: any WaitScript) { self.script = script }

  /// Out of the way of loops that ask the kernel's clock.
  var now: Instant {
    @inline(never) get { script.now }
  }

  func watch(_ source: Loop.DescriptorSource, in mode: ModeState) {
    script.watch(source, in: mode.bit)
  }

  func unwatch(_ source: Loop.DescriptorSource, in mode: ModeState) -> [RejectedSource] {
    script.unwatch(source, in: mode.bit)
    return []
  }

  func wait(_ frame: RunFrame, until deadline: Instant, blocks: Bool) -> Bool {
    script.wait(ScriptedTurn(frame: frame, core: core), until: deadline, blocks: blocks)
  }
}

extension Loop {
  /// Has the simulation look up a host's name. The loop's thread.
  ///
  /// - Returns: False outside of simulations.
  package func lookUpInSimulation(_ host: String, _ answer: @escaping (SimulatedAddresses) -> Void) -> Bool {
    guard case .scripted(let scripted) = core.wait else { return false }
    return scripted.script.lookUp(host, answer)
  }
}

extension Wait {
  /// Has a script choose the order of neighbours that are tied, of things in their documented order.
  @inline(__always)
  func permute<Things: RandomAccessCollection & MutableCollection>(
    _ things: inout Things, _ name: StaticString, _ areTied: (Things.Element, Things.Element) -> Bool
  ) where Things.Index == Int {
    if case .scripted(let scripted) = self { scripted.permute(&things, name, areTied) }
  }
}

extension LoopCore {
  /// The same of due timers.
  @inline(never)
  func permuteDue(_ frame: RunFrame) {
    assertOwnThread()
    wait.permute(&frame.due, "timer") {
      $0.date == $1.date && timers[$0.token.slot].order == timers[$1.token.slot].order
    }
  }
}

extension ScriptedWait {
  fileprivate func permute<Things: RandomAccessCollection & MutableCollection>(
    _ things: inout Things, _ name: StaticString, _ areTied: (Things.Element, Things.Element) -> Bool
  ) where Things.Index == Int {
    var start = things.startIndex
    while start < things.endIndex {
      var end = start + 1
      while end < things.endIndex, areTied(things[start], things[end]) { end += 1 }
      for place in start..<end - 1 { things.swapAt(place, place + script.choose(among: end - place, name)) }
      start = end
    }
  }
}
