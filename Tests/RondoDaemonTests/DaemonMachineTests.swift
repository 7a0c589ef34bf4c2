import Rondo
import Testing

@testable import RondoDaemon

/// The daemon's life without threads, loops or signals.
@Suite struct DaemonMachineTests {
  /// What can happen to a daemon.
  private enum Event: CaseIterable {
    case ready, ask, signal, lateSignal, returned, begin, end, time, stopped
  }

  private static let start = Instant(nanoseconds: 7)
  /// Half a second later.
  private static let late = Instant(nanoseconds: 500_000_007)

  private func apply(_ event: Event, to machine: inout DaemonMachine) -> DaemonMachine.Action {
    switch event {
    case .ready:
      _ = machine.becameReady()
      return .nothing
    case .ask: return machine.askedToStop(at: Self.start)
    case .signal: return machine.signalled(15, at: Self.start)
    case .lateSignal: return machine.signalled(15, at: Self.late)
    case .returned: return machine.stopHandlersReturned()
    case .begin:
      machine.workBegan()
      return .nothing
    case .end: return machine.works > 0 ? machine.workEnded() : .nothing
    case .time: return machine.timeIsUp()
    case .stopped:
      machine.runWasStopped()
      return .nothing
    }
  }

  @Test func `whatever happens in whichever order, it begins to stop once and ends once, for a reason that holds`() {
    /// Every sequence of so many events.
    func explore(_ machine: DaemonMachine, _ begins: Int, _ ends: Int, _ left: Int) {
      #expect(begins <= 1 && ends <= 1)
      switch machine.outcome {
      case .drained: #expect(begins == 1 && ends == 1)
      case .timedOut(let count): #expect(begins == 1 && ends == 1 && count > 0)
      case .interrupted: #expect(begins == 1 && ends == 1)
      case .stopped: #expect(ends == 0)
      case nil: #expect(ends == 0)
      }
      guard left > 0 else { return }
      for event in Event.allCases {
        var next = machine
        let action = apply(event, to: &next)
        // What has ended stays as it ended, and asks for nothing.
        if machine.outcome != nil { #expect(next.outcome == machine.outcome && action == .nothing) }
        if action == .awaitWork { #expect(next.phase == .draining && next.works > 0) }
        explore(next, begins + (action == .beginStop ? 1 : 0), ends + (action == .end ? 1 : 0), left - 1)
      }
    }
    explore(DaemonMachine(), 0, 0, 5)
  }

  @Test func `with nothing under way a stop ends with its handlers`() {
    var machine = DaemonMachine()
    #expect(machine.becameReady() && !machine.becameReady())
    #expect(machine.signalled(15, at: Self.start) == .beginStop && machine.isStopping)
    #expect(machine.stopHandlersReturned() == .end && machine.outcome == .drained)
  }

  @Test func `work under way is waited for, also what began after the stop`() {
    var machine = DaemonMachine()
    machine.workBegan()
    #expect(machine.askedToStop(at: Self.start) == .beginStop && machine.askedToStop(at: Self.late) == .nothing)
    #expect(machine.stopHandlersReturned() == .awaitWork)
    machine.workBegan()
    #expect(machine.workEnded() == .nothing && machine.workEnded() == .end)
    #expect(machine.outcome == .drained && machine.timeIsUp() == .nothing)
  }

  @Test func `time ends it with what is left`() {
    var slow = DaemonMachine()
    slow.workBegan()
    _ = slow.askedToStop(at: Self.start)
    #expect(slow.timeIsUp() == .nothing)
    _ = slow.stopHandlersReturned()
    #expect(slow.timeIsUp() == .end && slow.outcome == .timedOut(left: 1) && slow.outcome?.exitCode == 1)
  }

  @Test(arguments: [true, false])
  func `a signal ends it at once half a second after the stop began, and not before`(_ isAsked: Bool) {
    var machine = DaemonMachine()
    machine.workBegan()
    let first = isAsked ? machine.askedToStop(at: Self.start) : machine.signalled(15, at: Self.start)
    #expect(first == .beginStop)
    for date in [Self.start, Self.late.advanced(by: -1)] {
      let action = machine.signalled(2, at: date)
      #expect(action == .nothing && machine.outcome == nil)
    }
    let last = machine.signalled(2, at: Self.late)
    #expect(last == .end && machine.outcome == .interrupted(by: 2) && machine.outcome?.exitCode == 130)
  }
}
