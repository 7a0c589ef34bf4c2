import Foundation
import Glibc
import Rondo
import RondoTestSupport
import Testing

@testable import RondoInspect
@testable import rondo_inspect

/// How a server is shown.
@Suite(.offThePool) struct ServerTests {
  private final class Server: ShownServer {
    let figures: ServerFigures

    init(isDraining: Bool = false, most: Int? = 100, _ limits: KeyValuePairs<String, UInt64> = [:]) {
      figures = ServerFigures(
        isDraining: isDraining, connections: 7, mostConnections: most, accepted: 12, requests: 34,
        limits: limits.map { ($0, $1) })
    }
  }

  /// The lines of Prometheus's form that have a label of a server.
  private static func lines(of name: String) -> [String] {
    Inspector.prometheusText(of: []).split(separator: "\n").map(String.init)
      .filter { $0.contains("{server=\"\(name)\"") }
  }

  /// The report of a server, as the command shows it.
  private static func words(of name: String) throws -> String {
    let text = Report.json([], [:]).text
    let report = try JSONDecoder().decode(Answer.Report.self, from: Data(text.utf8))
    let servers = report.servers?.filter { $0.name == name }
    return View.text(Answer.Report(process: 1, time: 0, program: "p", loops: [], servers: servers))
  }

  @Test func `a server is in Prometheus's form as long as it is there`() {
    var server: Server? = Server(["idle": 3, "headTime": 0])
    ShownServers.add(server!, at: "a:1")
    #expect(
      Self.lines(of: "a:1") == [
        #"rondo_server_connections{server="a:1"} 7"#, #"rondo_server_draining{server="a:1"} 0"#,
        #"rondo_server_accepted_total{server="a:1"} 12"#, #"rondo_server_requests_total{server="a:1"} 34"#,
        #"rondo_server_limits_total{server="a:1",limit="idle"} 3"#,
        #"rondo_server_limits_total{server="a:1",limit="headTime"} 0"#,
      ])
    server = nil
    #expect(Self.lines(of: "a:1") == [])
  }

  @Test func `two servers at one address are two entries, and a place that is free is taken again`() {
    let (one, two, three) = (Server(), Server(isDraining: true), Server())
    for server in [one, two] { ShownServers.add(server, at: "a:2") }
    func draining() -> [String] {
      (Self.lines(of: "a:2") + Self.lines(of: "a:2 #2")).filter { $0.hasPrefix("rondo_server_draining") }
    }
    #expect(
      draining() == [
        #"rondo_server_draining{server="a:2"} 0"#, #"rondo_server_draining{server="a:2 #2"} 1"#,
      ])
    ShownServers.remove(one)
    #expect(draining() == [#"rondo_server_draining{server="a:2 #2"} 1"#])
    ShownServers.add(three, at: "a:2")
    #expect(draining().count == 2)
    for server in [two, three] { ShownServers.remove(server) }
    #expect(draining() == [])
  }

  @Test func `a forked child shows none of its parent's servers`() async {
    await #expect(processExitsWith: .success) {
      let server = Server()
      ShownServers.add(server, at: "a:6")
      let child = forkProcess()
      if child == 0 { _exit(ShownServers.all.isEmpty ? 0 : 1) }
      guard end(of: child) == .exit(0), ShownServers.all.count == 1 else { exit(1) }
      ShownServers.remove(server)
    }
  }

  @Test func `the path of a server's socket stays in its quotes`() {
    let server = Server()
    ShownServers.add(server, at: "a\"\n3")
    #expect(Self.lines(of: "a\\\"\\n3").count == 4)
    ShownServers.remove(server)
  }

  @Test func `the command shows a server's state, its connections, and the limits that were met`() throws {
    let server = Server(["idle": 3, "headTime": 0, "bodyBytes": 2])
    ShownServers.add(server, at: "a:4")
    #expect(
      try Self.words(of: "a:4") == """
        p, process 1

        server a:4: serving, connections 7 of 100, accepted 12, requests 34
          limits met: bodyBytes 2, idle 3

        """)
    ShownServers.remove(server)
  }

  @Test func `the command shows a server that drains, and one without a limit`() throws {
    let server = Server(isDraining: true, most: nil)
    ShownServers.add(server, at: "a:5")
    #expect(
      try Self.words(of: "a:5") == """
        p, process 1

        server a:5: draining, connections 7, accepted 12, requests 34

        """)
    ShownServers.remove(server)
  }

  @Test func `the command understands a process that tells of no servers`() throws {
    let text = #"{"process":1,"time":0,"program":"p","loops":[]}"#
    let report = try JSONDecoder().decode(Answer.Report.self, from: Data(text.utf8))
    #expect(View.text(report) == "p, process 1\n")
  }

  @Test func `a program's own text has the counts of the loops that it names, and no others`() throws {
    let (one, other) = (try LoopThread(name: "metrics one"), try LoopThread(name: "metrics other"))
    _ = other.loop.insight
    let text = Inspector.prometheusText(of: [one.loop])
    #expect(text.contains("rondo_turns_total{loop=\"metrics one\","))
    #expect(!text.contains("metrics other"))
    #expect(text.contains("# TYPE rondo_server_connections gauge\n"))
    for thread in [one, other] { thread.stop() }
  }
}
