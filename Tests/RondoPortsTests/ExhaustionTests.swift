import RondoTestSupport
import Testing

/// What takes a process of its own: the memory of a port under attack, and ports without descriptors.
@Suite struct ExhaustionTests {
  /// Requests of a byte are the more that are kept: they take a while.
  private static let attacks = ["burst", "halves", "kept", "headers"] + (isWhole ? ["crumbs"] : [])

  @Test(arguments: attacks)
  func `a port under attack holds no more memory than its bounds say`(_ attack: String) throws {
    let findings = try Probe.findings(["attack", attack])
    let (held, limit) = try (#require(findings["held-mib"]), #require(findings["limit-mib"]))
    #expect(limit == 128)
    // Looked at between two callouts: one piece or one reply more for whoever is served.
    #expect(held <= limit + 1)
    // malloc(3) keeps for later what was freed, and the attacker's own buffers are in this process too.
    let rss = try #require(findings["rss-mib"])
    #expect(rss <= 2 * limit)
    if ["kept", "crumbs"].contains(attack) {
      let kept = try #require(findings["kept"])
      #expect(kept > 0 && kept <= (limit << 20) / 2 / (attack == "kept" ? 4_096 : 512))
    }
  }

  @Test func `without descriptors there is a typed error where one is needed, and nothing leaks`() throws {
    let directory = TestDirectory()
    let findings = try Probe.findings(["port-descriptors", directory.path])
    let needs = [
      "local": 1, "file": 2, "remote": 1, "request": 1, "running": 1, "notice": 1, "socket": 1, "listening": 1,
      "datagram": 1, "pair": 2, "connecting": 1,
    ]
    for (what, need) in needs {
      for left in 0...3 {
        // The number is that of the descriptors leaked.
        #expect(findings["\(what)-\(left)-\(left < need ? "exhausted" : "ok")"] == 0, "\(what) with \(left) left")
      }
    }
    #expect(findings["is-told"] == 1 && findings["is-over"] == 1 && findings["messages"] == 1)
    #expect(try #require(findings["turns-without"]) < 40)
    #expect(findings.count == needs.count * 4 + 4)
  }
}
