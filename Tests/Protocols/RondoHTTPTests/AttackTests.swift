import HTTPTypes
import Rondo
import RondoHTTP
import RondoSockets
import RondoTesting
import Synchronization
import Testing

/// What the server makes of requests that break rules, each followed by another request.
@Suite struct AttackTests {
  /// Reads the body, notes the path, and answers.
  static func handler(_ paths: Trace) -> Handler {
    { request, response in
      paths.note(request.head.path ?? "-")
      _ = try await request.body.collect()
      try await response.send(HTTPResponse(status: .ok))
    }
  }

  private static func run(_ attack: Attack, _ pieces: [[UInt8]]) -> String {
    let paths = Trace()
    let answers = Scene.answers(bytes: pieces, limits: ServerLimits(idle: .seconds(90)), handler(paths))
    return
      "\(attack.name): \(answers.statuses) \(paths.tokens) \(answers.end) \(answers.second < 90 ? "closed" : "kept")"
  }

  private static func expected(_ attack: Attack) -> String {
    if attack.status == Attack.served { return "\(attack.name): [200, 200] [\"/x\", \"/admin\"] end kept" }
    return "\(attack.name): [\(attack.status)] \(attack.isInBody ? "[\"/x\"]" : "[]") end closed"
  }

  @Test func `a request that breaks a rule gets its status and a close, and never counts as two`() {
    #expect(Attack.all.count > 100)
    let found = Attack.all.map { Self.run($0, [$0.bytes + Attack.smuggled]) }
    let expected = Attack.all.map(Self.expected)
    for (one, other) in zip(found, expected) { #expect(one == other) }
  }

  @Test func `it is the same byte by byte`() {
    let found = Attack.all.map { Self.run($0, ($0.bytes + Attack.smuggled).map { [$0] }) }
    let expected = Attack.all.map(Self.expected)
    for (one, other) in zip(found, expected) { #expect(one == other) }
  }
}
