import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// The names of a simulated network: how long an answer takes, what it is by then, and how a lookup fails.
@Suite struct SimulatedNamesTests {
  private static let name = "db.example.org"

  /// Looks the name up on a host, and notes the answer with the milliseconds that it took.
  private func lookUp(_ trace: Trace, on host: Host, in simulation: Simulation, timeout: Duration = .seconds(30)) {
    host.start {
      let start = simulation.elapsed
      var text: String
      do throws(LookupError) {
        let found = try await Resolver.shared.addresses(of: Self.name, port: 5, timeout: timeout, on: host.loop)
        text = found.map { "\($0)" }.joined(separator: " ")
      } catch {
        text = "\(error)"
      }
      trace.note("\(text) after \((simulation.elapsed - start) / .milliseconds(1))")
    }
  }

  @Test func `an answer takes its time, and has the addresses that the name has by then`() {
    withSimulation { simulation in
      let (host, trace) = (simulation.host("10.0.0.1"), Trace())
      simulation.names[Self.name] = ["10.0.0.2"]
      simulation.nameLatency = .milliseconds(20)
      lookUp(trace, on: host, in: simulation)
      simulation.at(.milliseconds(10)) { simulation.names[Self.name] = ["10.0.0.3", "fd00::1"] }
      simulation.at(.milliseconds(30)) {
        simulation.names[Self.name] = nil
        lookUp(trace, on: host, in: simulation)
      }
      simulation.run(for: .seconds(1))
      #expect(
        trace.text == "10.0.0.3:5 [fd00::1]:5 after 20.0 there is no address of 'db.example.org' after 20.0")
    }
  }

  @Test func `without a latency the answer is there at once`() {
    withSimulation { simulation in
      let (host, trace) = (simulation.host("10.0.0.1"), Trace())
      simulation.names[Self.name] = ["10.0.0.2"]
      lookUp(trace, on: host, in: simulation)
      simulation.run(for: .zero)
      #expect(trace.text == "10.0.0.2:5 after 0.0")
    }
  }

  @Test(arguments: [
    (ENOENT, "there is no address of 'db.example.org' after 5.0"),
    (EAGAIN, "nobody answers who would know the address of 'db.example.org' after 5.0"),
    (ETIMEDOUT, "the time given is over after 2000.0"),
  ])
  func `a lookup fails as it was planned, on its host, and the next one succeeds`(_ errno: CInt, _ error: String) {
    withSimulation { simulation in
      let (host, other, trace) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.9"), Trace())
      simulation.names[Self.name] = ["10.0.0.2"]
      simulation.nameLatency = .milliseconds(5)
      simulation.faults.fail(.lookUp, with: errno, on: host)
      lookUp(trace, on: other, in: simulation)
      simulation.run(for: .seconds(1))
      lookUp(trace, on: host, in: simulation, timeout: .seconds(2))
      simulation.run(for: .seconds(3))
      lookUp(trace, on: host, in: simulation)
      simulation.run(for: .seconds(1))
      #expect(trace.text == "10.0.0.2:5 after 5.0 \(error) 10.0.0.2:5 after 5.0")
      #expect(simulation.faults.count(of: .lookUp) == 1)
    }
  }

  @Test func `an answer for a host that has crashed meanwhile comes to nobody`() {
    withSimulation { simulation in
      let (host, trace) = (simulation.host("10.0.0.1"), Trace())
      simulation.names[Self.name] = ["10.0.0.2"]
      simulation.nameLatency = .milliseconds(5)
      lookUp(trace, on: host, in: simulation)
      simulation.at(.milliseconds(1)) { host.crash() }
      simulation.run(for: .seconds(60))
      #expect(trace.text == "")
    }
  }
}
