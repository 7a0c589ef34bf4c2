import Testing

@testable import RondoDaemon

/// The daemon's life without threads, loops or signals.
@Suite struct DaemonMachineTests {
  /// What can happen to a daemon.
  private enum Event: CaseIterable {
    case ready, ask, signal, returned, begin, end, time, stopped
  }

  private func apply(_ event: Event, to machine: inout DaemonMachine) -> DaemonMachine.Action {
    switch event {
    case .ready:
      _ = machine.becameReady()
      return .nothing
    case .ask: return machine.askedToStop()
    case .signal: return machine.signalled(15)
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
    #expect(machine.signalled(15) == .beginStop && machine.isStopping)
    #expect(machine.stopHandlersReturned() == .end && machine.outcome == .drained)
  }

  @Test func `work under way is waited for, also what began after the stop`() {
    var machine = DaemonMachine()
    machine.workBegan()
    #expect(machine.askedToStop() == .beginStop && machine.askedToStop() == .nothing)
    #expect(machine.stopHandlersReturned() == .awaitWork)
    machine.workBegan()
    #expect(machine.workEnded() == .nothing && machine.workEnded() == .end)
    #expect(machine.outcome == .drained && machine.timeIsUp() == .nothing)
  }

  @Test func `time ends it with what is left, and a second signal at once`() {
    var slow = DaemonMachine()
    slow.workBegan()
    _ = slow.askedToStop()
    #expect(slow.timeIsUp() == .nothing)
    _ = slow.stopHandlersReturned()
    #expect(slow.timeIsUp() == .end && slow.outcome == .timedOut(left: 1) && slow.outcome?.exitCode == 1)
    var asked = DaemonMachine()
    asked.workBegan()
    _ = asked.askedToStop()
    #expect(asked.signalled(2) == .end && asked.outcome == .interrupted(by: 2) && asked.outcome?.exitCode == 130)
  }
}
