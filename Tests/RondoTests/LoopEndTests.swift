import Glibc
import RondoTestSupport
import Synchronization
import Testing

@testable import Rondo

/// What the last callouts of a loop's thread may count on.
@Suite struct LoopEndTests {
  @Test func `to the last callout the loop's thread excludes its jobs, and none of them runs beside it`() async {
    let findings = LastCallout.Findings()
    TestThread {
      _ = Loop.current.companion { LastCallout(Loop.current, findings) }
    }.join()
    let isIsolated = findings.isIsolated.load(ordering: .relaxed)
    #expect(isIsolated)
    let ranBeside = findings.ranBeside.load(ordering: .relaxed)
    #expect(!ranBeside)
    await until { findings.hasRun.load(ordering: .relaxed) }
  }
}

/// Has a job enqueued where it dies: in its loop's last callout.
private final class LastCallout {
  final class Findings: Sendable {
    let isIsolated = Atomic<Bool>(false)
    let ranBeside = Atomic<Bool>(false)
    let hasRun = Atomic<Bool>(false)
  }

  private actor Worker {
    private let lane: JobLane
    init(_ lane: JobLane) { self.lane = lane }
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe lane.asUnownedSerialExecutor() }
    func run(_ findings: Findings) { findings.hasRun.store(true, ordering: .relaxed) }
  }

  private let lane: JobLane
  private let findings: Findings

  init(_ loop: Loop, _ findings: Findings) {
    lane = loop.actorLane
    self.findings = findings
  }

  deinit {
    findings.isIsolated.store(lane.isolatesCurrentThread, ordering: .relaxed)
    let (worker, findings) = (Worker(lane), findings)
    Task.detached { await worker.run(findings) }
    // Long enough for a thread of the pool to run it, if one may.
    usleep(50_000)
    findings.ranBeside.store(findings.hasRun.load(ordering: .relaxed), ordering: .relaxed)
  }
}
