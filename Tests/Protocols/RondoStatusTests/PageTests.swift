import Foundation
import Testing

private let curl = "/usr/bin/curl"
/// Nil where none is installed.
private let browser = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
  .map { "\($0)/chromium" }.first { FileManager.default.isExecutableFile(atPath: $0) }

/// What clients of HTTP see of the example `rondo-status`.
@Suite struct PageTests {
  @Test func `each page has its status, its type and its content`() throws {
    let daemon = try status()
    try Sender(daemon).send("orders 3".utf8)
    let client = try Client(daemon)
    try wait("for the datagram") { try client.ask(get("/metrics")).body.contains("orders") }
    let page = try client.ask(get("/"))
    #expect(page.status == 200 && page.fields["content-type"] == "text/html; charset=utf-8")
    #expect(page.body.hasPrefix("<!DOCTYPE html>") && page.body.contains("<tr><td>orders</td><td>3</td><td>"))
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n"), ("/healthz?a=b", "ok\n")] {
      let answer = try client.ask(get(path))
      #expect(answer.status == 200 && answer.body == text)
      #expect(answer.fields["content-type"] == "text/plain; charset=utf-8")
    }
    let answer = try client.ask(get("/nowhere"))
    #expect(answer.status == 404 && answer.body == "There is no such page.\n")
  }

  @Test(arguments: ["/", "/metrics", "/healthz", "/readyz", "/nowhere"])
  func `HEAD is answered as GET, without the body`(_ path: String) throws {
    let daemon = try status()
    let client = try Client(daemon)
    let (whole, head) = (try client.ask(get(path)), try client.ask(get(path, method: "HEAD"), hasBody: false))
    #expect(head.status == whole.status && head.fields["content-type"] == whole.fields["content-type"])
    #expect(head.fields["content-length"] != "0" && head.body == "")
    // What follows is the next answer, and no body.
    #expect(try client.isAnswered())
  }

  @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS"])
  func `a page can only be read`(_ method: String) throws {
    let daemon = try status()
    let client = try Client(daemon)
    let answer = try client.ask(get("/", "Content-Length: 5\r\n", method: method) + Array("hello".utf8))
    #expect(answer.status == 405 && answer.fields["allow"] == "GET, HEAD")
    #expect(try client.isAnswered())
  }

  @Test func `a daemon that stops answers what has begun, and says that it is not ready`() throws {
    let daemon = try status()
    let (client, console) = (try Client(daemon), try Client(daemon, at: consolePort))
    #expect(try client.isAnswered())
    #expect(try console.say("counts") == "0 names\n")
    try client.send(get("/readyz").dropLast(2))
    #expect(kill(daemon.identifier, SIGTERM) == 0)
    #expect(try console.receive(1) == [])
    let answer = try client.ask(Array("\r\n".utf8))
    #expect(answer.status == 503 && answer.body == "not ready\n")
    #expect(try client.receive(1) == [])
  }

  @Test func `the metrics are in Prometheus's form, with the numbers of the loop, the servers and the program`() throws
  {
    let daemon = try status()
    let console = try Client(daemon, at: consolePort)
    #expect(try console.say("counts") == "0 names\n")
    for text in ["orders 3", "orders", "visits 7\n", "?"] { try Sender(daemon).send(text.utf8) }
    try daemon.waitForMetric("status_refused_total") { $0 == 1 }
    let answer = try Client(daemon).ask(get("/metrics"))
    #expect(answer.fields["content-type"] == "text/plain; version=0.0.4")
    let values = try Metrics(answer.body).values
    #expect(values[#"status_count_total{name="orders"}"#] == 4)
    #expect(values[#"status_count_total{name="visits"}"#] == 7)
    // This client, and those before it.
    let accepted = try #require(values["rondo_server_accepted_total{server=\"\(daemon.name)\"}"])
    #expect(accepted >= 2)
    #expect(try #require(values["rondo_server_connections{server=\"\(daemon.name)\"}"]) >= 1)
    #expect(values["rondo_server_requests_total{server=\"\(daemon.name)\"}"] == accepted)
    #expect(values["rondo_server_draining{server=\"\(daemon.name)\"}"] == 0)
    let consoles = values.filter { $0.key.hasPrefix("rondo_server_accepted_total{") && $0.value == 1 }
    #expect(consoles.count == 1)
    let callouts = values.filter { $0.key.hasPrefix("rondo_descriptor_callouts_total{loop=") }
    #expect(callouts.count == 1 && callouts.values.first != 0)
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: curl), "curl is not installed"))
  func `curl opens the metrics`() throws {
    let daemon = try status()
    let text = try output(of: curl, "--silent", "--show-error", "--fail", "http://\(daemon.name)/metrics")
    #expect(try Metrics(text).values["status_refused_total"] == 0)
  }

  @Test(.enabled(if: browser != nil, "chromium is not installed")) func `a browser opens the page`() throws {
    let daemon = try status()
    try Sender(daemon).send("orders 3".utf8)
    try daemon.waitForMetric(#"status_count_total{name="orders"}"#) { $0 == 3 }
    let folder = FileManager.default.temporaryDirectory.appending(path: "rondo-status-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let text = try output(
      of: browser!, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(folder)", "--dump-dom",
      "http://\(daemon.name)/")
    #expect(text.contains("<h1>Counts</h1>") && text.contains("<td>orders</td><td>3</td>"))
  }

  /// What a program prints that ends well.
  private func output(of program: String, _ arguments: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    return String(decoding: output, as: UTF8.self)
  }
}
