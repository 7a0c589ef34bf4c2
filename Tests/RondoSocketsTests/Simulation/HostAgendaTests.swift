import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Which hosts a simulation serves: those that have something to do, in the order of a seed, and no others.
@Suite struct HostAgendaTests {
  /// Gives a host a timer.
  private func time(
    _ host: Host, after delay: Duration = .zero, in mode: Loop.Mode = .default, _ action: @escaping @Sendable () -> Void
  ) {
    _ = host.run { host.loop.add(Loop.Timer(after: delay) { _ in action() }, to: mode) }
  }

  // MARK: - What an event costs

  /// How often hosts were asked in a hundred answers of the first of so many, of which each has one timer.
  private func questions(_ hosts: Int, seed: Seed? = nil) throws -> Int {
    try withSimulation(seed: seed) { simulation in
      let address = try SocketAddress(parsing: "10.0.0.1:7007")
      let server = simulation.host("10.0.0.1")
      let all = [server] + (2...hosts).map { simulation.host("10.0.0.\($0)") }
      for host in all { time(host, after: .seconds(3_600)) {} }
      let loop = server.loop
      server.start {
        try await Listener(at: address).serve(on: loop) { connection in
          for try await bytes in connection { try await connection.write(bytes) }
        }
      }
      let client = try all[1].run { try Socket(family: AF_INET, .stream) }
      _ = try client.connect(to: address)
      simulation.run(for: .milliseconds(10))
      let before = simulation.questions
      for _ in 0..<100 {
        _ = try client.send([1])
        simulation.run(for: .milliseconds(10))
        let answer = try client.receive()
        #expect(answer == .bytes([1]))
      }
      return simulation.questions - before
    }
  }

  @Test func `an answer asks as many hosts of a hundred as of two`() throws {
    let (few, many) = (try questions(2), try questions(100))
    #expect(few == many)
    #expect(many < 1_000)
  }

  @Test func `a seed asks for the order of all only where two hosts have something to do`() throws {
    let (few, many) = (try questions(2, seed: 1), try questions(100, seed: 1))
    #expect(few == many)
  }

  @Test func `a timer of one host asks that host`() {
    let asked = [1, 100].map { count in
      withSimulation { simulation in
        let hosts = (1...count).map { simulation.host("10.0.0.\($0)") }
        let trace = Trace()
        _ = hosts[0].run { hosts[0].loop.add(Loop.Timer(every: .seconds(1)) { _ in trace.note("") }) }
        simulation.run(for: .milliseconds(100))
        let before = simulation.questions
        simulation.run(for: .seconds(1_000))
        #expect(trace.tokens.count == 1_000)
        return simulation.questions - before
      }
    }
    #expect(asked[0] == asked[1] && asked[0] <= 3_000)
  }

  // MARK: - Who is served

  /// What code of one host may do to the loop of another, which sleeps.
  enum Touch: CaseIterable, Sendable {
    case perform, performQuietly, timer, date, signal, task, descriptor
  }

  @Test(arguments: Touch.allCases) func `a host is served when another changes its loop`(_ touch: Touch) throws {
    try withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      let loop = other.loop
      let note: @Sendable () -> Void = { trace.note("\(simulation.elapsed)") }
      let source = Loop.Source { note() }
      let timer = other.run { Loop.Timer(after: .seconds(100)) { _ in note() } }
      let ends = try other.run { try Socket.pair(.stream) }
      let input = try other.run {
        try Loop.DescriptorSource(ends.0.descriptor, for: .read) { source, _ in
          note()
          source.enabled = []
        }
      }
      input.enabled = []
      _ = try ends.1.send([1])
      for item in [source, timer, input] as [Loop.Item] { loop.add(item) }
      time(one, after: .seconds(2)) {
        switch touch {
        case .perform: loop.perform(note)
        case .performQuietly: loop.perform(in: [.common], waking: false, note)
        case .timer: loop.add(Loop.Timer(after: .zero) { _ in note() })
        case .date: timer.fireDate = simulation.now
        case .signal: source.signal()
        case .task: Task(executorPreference: loop) { note() }
        case .descriptor: input.enabled = .read
        }
      }
      simulation.run(for: .seconds(10))
      #expect(trace.text == "2.0 seconds")
    }
  }

  @Test func `a host is served when another thread has posted to its loop`() {
    withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      let loop = other.loop
      time(one, after: .seconds(2)) {
        onAnotherThread { loop.perform { trace.note("\(simulation.elapsed)") } }
      }
      simulation.run(for: .seconds(10))
      #expect(trace.text == "2.0 seconds")
    }
  }

  @Test func `hosts with something to do at one date go in the order in which they were made, or in all by seeds`() {
    func order(_ seed: Seed?) -> String {
      withSimulation(seed: seed) { simulation in
        let trace = Trace()
        for number in [3, 1, 2] {
          let host = simulation.host("10.0.0.\(number)")
          time(host, after: .seconds(1)) { trace.note("\(number)") }
        }
        time(simulation.host("10.0.0.4"), after: .seconds(2)) {}
        simulation.run(for: .seconds(3))
        return trace.text
      }
    }
    #expect(order(nil) == "3 1 2")
    let orders = Set((1...100).map { order(Seed($0)) })
    #expect(orders.count == 6)
  }

  @Test func `a host that is restarted in a callout has its turn in the round after`() {
    withSimulation { simulation in
      let (one, other) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let trace = Trace()
      other.crash()
      time(other, after: .seconds(1)) { trace.note("two \(simulation.elapsed)") }
      time(one, after: .seconds(3)) {
        other.restart()
        one.loop.perform { trace.note("one") }
      }
      simulation.run(for: .seconds(2))
      #expect(trace.text == "")
      simulation.run(for: .seconds(2))
      #expect(trace.text == "one two 3.0 seconds")
    }
  }
}
