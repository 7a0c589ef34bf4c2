import CBench
import Foundation
import Testing

@testable import rondo_bench

/// The rows of HTTP servers, and the clients' idea of a response.
@Suite(.serialized) struct HTTPTests {
  private func state(_ response: String) -> CInt {
    bench_response_state(response, response.utf8.count, "hello\n")
  }

  private static let response =
    "HTTP/1.1 200 OK\r\nDate: Thu\r\ncontent-length: 6\r\nX: Content-Length: 7\r\n\r\nhello\n"

  @Test func `A response is whole with its last byte`() {
    for count in 0..<Self.response.utf8.count {
      #expect(state(String(decoding: Self.response.utf8.prefix(count), as: UTF8.self)) == 0)
    }
    #expect(state(Self.response) == 1)
  }

  @Test(arguments: ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 \r\n", "HTTP/1.1 200\r\n"])
  func `A status has any reason, or none`(line: String) {
    #expect(state(line + "Content-Length:6\r\n\r\nhello\n") == 1)
  }

  @Test(arguments: ["H2", "HTTP/1.0 200 OK\r\n", "HTTP/1.1 404 Not Found\r\n", "HTTP/1.1 2000\r\n", "hello\n"])
  func `Anything but a 200 is wrong as soon as it shows`(begin: String) {
    #expect(state(begin) == -1)
  }

  @Test(arguments: [
    "", "Content-Length: 5\r\n", "Content-Length: 7\r\n", "Content-Length: +6\r\n", "Content-Length: 6, 6\r\n",
    "Content-Length:\r\n", "Content-Length: 6\r\nContent-Length: 6\r\n", "Content-Length: 9999999999\r\n",
    "Transfer-Encoding: chunked\r\n",
  ])
  func `A response without one right length is wrong`(field: String) {
    #expect(state("HTTP/1.1 200 OK\r\n\(field)\r\nhello\n") == -1)
  }

  @Test func `Another page is wrong, and so is what follows the page`() {
    #expect(state(Self.response.replacing("hello", with: "hallo")) == -1)
    #expect(state(Self.response + "H") == -1)
  }

  @Test func `The page of the method names every row of an HTTP server`() throws {
    let page = URL(filePath: #filePath).appending(path: "../../../README.md").standardized
    let text = try String(contentsOf: page, encoding: .utf8)
    let names = Workloads.all.filter { $0 is HTTP }.map(\.name)
    #expect(names == ["http.1", "http.64", "http.500", "https.64", "tls.handshake"])
    for name in names { #expect(text.contains("`\(name)`"), "\(name)") }
  }

  @Test
  func `A round has the time of a request, its rate, the server's processor time, and memory where it says something`()
  {
    var clients = bench_clients()
    (clients.requests, clients.elapsed, clients.processor, clients.memory) = (500, 1_000_000_000, 20_000_000, 7)
    let part = Serving.part(of: clients, hasMemory: true)
    #expect(part.value == 2_000_000)
    #expect(part.gauges.prefix(3).map(\.metric) == ["memory", "requests", "processor"])
    #expect(part.gauges.prefix(3).map(\.value) == [7, 0.5, 40_000])
    let handshakes = Serving.part(of: clients, counting: "handshakes", byProcessor: true, hasMemory: false)
    #expect(handshakes.value == 40_000)
    #expect(handshakes.gauges.prefix(2).map(\.metric) == ["handshakes", "time"])
    #expect(handshakes.gauges.prefix(2).map(\.value) == [0.5, 2_000_000])
  }

  @Test func `A subject without such a server says so`() {
    for workload in [HTTP(.plain, 1), HTTP(.handshake, 4)] {
      #expect(throws: Refusal.cannot("has no such HTTP server here")) {
        try workload.round(of: ServerSubject(name: "libuv", summary: ""), size: 1)
      }
    }
  }

  @Test(arguments: [HTTP(.secured, 64), HTTP(.handshake, 4)])
  func `OpenSSL's own server answers over TLS`(workload: HTTP) throws {
    guard workload.obstacle == nil, bench_has_tls() else {
      print("Skipped: there is one processor, or no libssl-dev.")
      return
    }
    let round = try workload.round(of: ServerSubject(name: "openssl", summary: ""), size: 20)
    #expect(try #require(round.parts.first?.value) > 0)
  }
}
