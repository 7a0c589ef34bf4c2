import Dispatch
import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// What code in virtual time does that is not simulated is told, after a bounded time.
@Suite(.offThePool) struct EscapeTests {
  /// What a process that misbehaves in a scope writes to stderr when it is ended.
  private func message(of result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }

  @Test func `code that waits for a thread is named, with what it is blocked in`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      unsafe setenv("RONDO_REAL_LIMIT", "1", 1)
      onHost { waitForNobody() }
    }
    let text = message(of: result)
    #expect(text.contains("Code in virtual time has not come back for 1 s of real time, at 0.0 seconds of its own."))
    #expect(text.contains("The thread is blocked in futex: what it waits for is not simulated."))
    #expect(text.contains("waitForNobody()") && text.contains("EscapeTests.swift:"), "\(text)")
  }

  @Test func `code that sleeps in the kernel again and again is named`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      unsafe setenv("RONDO_REAL_LIMIT", "2", 1)
      inVirtualTime { $0.add(Loop.Timer(after: .seconds(5)) { _ in sleepForEver() }) }
    }
    let text = message(of: result)
    #expect(text.contains("for 2 s of real time, at 5.0 seconds of its own. The thread is blocked in "), "\(text)")
    #expect(text.contains("sleepForEver()"), "\(text)")
  }

  @Test func `code that computes without an end is named`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      unsafe setenv("RONDO_REAL_LIMIT", "1", 1)
      onHost { computeForEver() }
    }
    let text = message(of: result)
    #expect(text.contains("The thread is running: it computes, or polls without a turn of the loop."), "\(text)")
    #expect(text.contains("computeForEver()"), "\(text)")
  }

  @Test func `code of a thread of a host is named, too`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      unsafe setenv("RONDO_REAL_LIMIT", "1", 1)
      onThread { waitForNobody() }
    }
    let text = message(of: result)
    #expect(text.contains("The thread is blocked in futex: what it waits for is not simulated."), "\(text)")
    #expect(text.contains("waitForNobody()"), "\(text)")
  }

  @Test func `a socket of the kernel that code of a host opens is named`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      onHost { openSocket() }
    }
    let text = message(of: result)
    #expect(text.contains("Code of the simulated host 10.0.0.1 opens a socket of the kernel"), "\(text)")
    #expect(text.contains("openSocket()") && text.contains("EscapeTests.swift:"), "\(text)")
  }

  @Test func `a thread of a host opens no socket of the kernel either`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      onThread { openSocket() }
    }
    let text = message(of: result)
    #expect(text.contains("Code of the simulated host 10.0.0.1 opens a socket of the kernel"), "\(text)")
  }

  @Test func `sockets of the kernel that the test opens, or code in a virtual loop, are theirs`() {
    func opens() -> Bool {
      let descriptor = socket(AF_INET, streamType, 0)
      return descriptor >= 0 && close(descriptor) == 0
    }
    withSimulation { simulation in
      #expect(opens())
      let trace = Trace()
      simulation.at(.seconds(1)) { trace.note("\(opens())") }
      _ = simulation.host("10.0.0.1")
      simulation.run(for: .seconds(2))
      #expect(trace.text == "true")
    }
    withVirtualLoop { _ in #expect(opens()) }
  }

  @Test func `work of a thread that no host has is named once for each place`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      postByDispatchWhileTheHostSleeps()
    }
    let text = message(of: result)
    let lines = text.split(separator: "\n").filter { $0.contains("A thread that no simulated host has posted") }
    #expect(lines.count == 1 && lines[0].contains("to the loop of 10.0.0.1, which noticed at 1.0 seconds."), "\(text)")
    #expect(text.contains("postByDispatchWhileTheHostSleeps()") && text.contains("EscapeTests.swift:"), "\(text)")
  }

  @Test func `a virtual loop that turns without time passing ends with a message`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      inVirtualTime { loop in
        Task(executorPreference: loop) { while !Task.isCancelled { await Task.yield() } }
      }
    }
    #expect(message(of: result).contains("The clock stands still, because loops call out without end"))
  }

  @Test func `what the test's own code does between runs may take any time`() {
    withSimulation { simulation in
      _ = simulation.host("10.0.0.1")
      simulation.run(for: .seconds(1))
      usleep(1_500_000)
    }
  }

  @Test func `a task that waits for Dispatch, or for nobody, is told with the line that started it`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      onHost { try await Task.sleep(for: .seconds(3_600)) }
      onHost {
        await withCheckedContinuation { done in
          DispatchQueue.global().asyncAfter(deadline: .now() + 3_600) { done.resume() }
        }
      }
    }
    let lines = message(of: result).split(separator: "\n").filter { $0.contains("has not ended with its simulation") }
    #expect(lines.count == 1)
    #expect(lines.first?.contains("EscapeTests.swift:") == true)
  }
}

/// For async code: what a host of a simulation does in a second.
private func onHost(_ body: @escaping @Sendable () async throws -> Void) {
  withSimulation { simulation in
    simulation.host("10.0.0.1").start(body)
    simulation.run(for: .seconds(1))
  }
}

/// For async code: what a thread of a host does.
private func onThread(_ body: @escaping @Sendable () -> Void) {
  withSimulation { simulation in
    simulation.host("10.0.0.1").run {
      let thread = try! LoopThread(name: "worker")
      thread.execute { body() }
      thread.stop()
    }
  }
}

/// For async code: ten seconds of a virtual loop.
private func inVirtualTime(_ body: (Loop) -> Void) {
  withVirtualLoop { virtual in
    body(virtual.loop)
    virtual.advance(by: .seconds(10))
  }
}

@inline(never) private func waitForNobody() { DispatchSemaphore(value: 0).wait() }

@inline(never) private func sleepForEver() { while true { usleep(20_000) } }

/// SOCK_STREAM, which a file of this module does not always see in Glibc.
private let streamType: CInt = 1

@inline(never) private func openSocket() { close(socket(AF_INET, streamType, 0)) }

/// For async code: three blocks from a thread of Dispatch's.
private func postByDispatchWhileTheHostSleeps() {
  withSimulation { simulation in
    let loop = simulation.host("10.0.0.1").loop
    for second in 1...3 {
      simulation.at(.seconds(second)) {
        let hasPosted = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
          loop.perform {}
          hasPosted.signal()
        }
        hasPosted.wait()
      }
    }
    simulation.run(for: .seconds(5))
  }
}

@inline(never) private func computeForEver() {
  var number: UInt64 = 1
  while number != 0 { number = (number &* 3) | 1 }
}
