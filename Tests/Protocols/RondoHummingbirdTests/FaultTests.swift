import Hummingbird
import Rondo
import RondoHTTP
import RondoHummingbird
import RondoSockets
import RondoTesting
import Synchronization
import Testing

/// Routes on a network that delays, cuts and breaks. Seeds pick the faults.
@Suite struct FaultTests {
  /// The connection ended before the response did.
  private struct CutOff: Error {}

  private static var router: Router<BasicRequestContext> {
    let router = Router()
    router.post("add/:number") { request, context in
      let number = try context.parameters.require("number", as: Int.self)
      let text = String(buffer: try await request.body.collect(upTo: 1_000))
      return "\(number + (Int(text) ?? 0))"
    }
    return router
  }

  @Test(.seeds(50)) func `each request that is answered has the right answer, whatever the network does`() {
    let right = Atomic(0)
    let (wrong, last) = (Trace(), Trace())
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let (serverLoop, clientLoop) = (server.loop, client.loop)
      let responder = Self.router.buildResponder()
      server.start {
        try await Listener(at: address).serveHTTP(on: serverLoop, HTTPServer(responder: responder, logger: silent))
      }
      let link = simulation.link(server, client)
      link.latency = .milliseconds(1 + simulation.choose(among: 200))
      simulation.at(.milliseconds(1)) { simulation.faults.swarm(oneIn: 20) }
      simulation.at(.milliseconds(100 + simulation.choose(among: 3_000))) { link.reset() }
      let cut = 1_000 + simulation.choose(among: 5_000)
      simulation.at(.milliseconds(cut)) { link.cut() }
      simulation.at(.milliseconds(cut + 1 + simulation.choose(among: 4_000))) { link.heal() }
      for number in 0..<5 {
        client.start {
          var asked = number * 1_000
          while simulation.elapsed < .seconds(30) {
            do {
              let connection = try await Connection.connected(to: address, on: clientLoop)
              while simulation.elapsed < .seconds(30) {
                asked += 1
                let answer = try await Self.sum(of: asked, over: connection)
                if answer == "200 \(2 * asked)" {
                  right.add(1, ordering: .relaxed)
                } else {
                  wrong.note("\(asked): \(answer)")
                }
                try await clientLoop.clock.sleep(for: .milliseconds(300))
              }
            } catch {
              // The next connection goes on. Nothing is known of the request that was under way.
              try await clientLoop.clock.sleep(for: .milliseconds(500))
            }
          }
        }
      }
      simulation.run(for: .seconds(40))
      simulation.faults.clear()
      client.start {
        let connection = try await Connection.connected(to: address, on: clientLoop)
        last.note(try await Self.sum(of: 7, over: connection))
      }
      simulation.run(for: .seconds(200))
      #expect(server.openDescriptorCount == 1)
    }
    #expect(wrong.tokens == [])
    #expect(right.load(ordering: .relaxed) > 0)
    #expect(last.text == "200 14")
  }

  /// Asks for twice a number; the status and the body.
  private static func sum(of number: Int, over connection: Connection) async throws -> String {
    try await connection.write(request("POST /add/\(number)", body: "\(number)"))
    guard let line = try await connection.readLine() else { throw CutOff() }
    var length = 0
    while true {
      // The last line of a connection that ends within a head may be a part of one.
      guard let field = try await connection.readLine() else { throw CutOff() }
      if field.isEmpty { break }
      if field.hasPrefix("content-length: ") { length = Int(field.dropFirst(16)) ?? 0 }
    }
    guard let body = try await connection.read(exactly: length) else { throw CutOff() }
    return "\(line.dropFirst(9).prefix(3)) \(String(decoding: body, as: UTF8.self))"
  }
}
