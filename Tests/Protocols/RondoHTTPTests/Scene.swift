import HTTPTypes
import Rondo
import RondoHTTP
import RondoInspect
import RondoSockets
import RondoTesting
import Testing

typealias Handler = @Sendable (HTTPServerRequest, HTTPServerResponse) async throws -> Void

/// A server of HTTP and a client, each on a host of a simulation.
struct Scene {
  static let address = try! SocketAddress(parsing: "10.0.0.1:80")
  /// The address of this one's server: a port of its own gives it counts of its own.
  let address: SocketAddress
  let simulation: Simulation
  let server: Host
  let client: Host
  /// What the client's tasks note.
  let trace = Trace()
  /// What `onError` was told.
  let errors = Trace()
  let serving: Task<Void, any Error>

  init(
    _ simulation: Simulation, limits: ServerLimits = ServerLimits(), grace: Duration = .zero,
    port: Int = 80, _ handler: @escaping Handler
  ) {
    address = try! SocketAddress(parsing: "10.0.0.1:\(port)")
    self.simulation = simulation
    (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
    let (loop, errors, address) = (server.loop, errors, address)
    serving = server.start {
      try await Listener(at: address).serveHTTP(
        on: loop, limits: limits, grace: grace, onError: { errors.note("\($0)") }, handler: handler)
    }
  }

  /// Starts a client's task with a connection.
  func connect(_ body: @escaping @Sendable (Client) async throws -> Void) {
    let (loop, trace, address) = (client.loop, trace, address)
    client.start {
      let client = Client(connection: try await .connected(to: address, on: loop), trace: trace)
      do { try await body(client) } catch { trace.note("client: \(error)") }
    }
  }

  /// What an operator reads of the server: each count that is not zero, as `accepted=1` or `limit:idle=1`.
  var counts: String {
    let lines = Inspector.prometheusText(of: []).split(separator: "\n").filter { $0.contains("server=\"\(address)\"") }
    return lines.compactMap { line -> String? in
      let words = line.split(separator: " ")
      let limit = words[0].split(separator: "limit=\"").dropFirst().first?.dropLast(2)
      let name = words[0].prefix { $0 != "{" }.dropFirst("rondo_server_".count)
      return words[1] == "0" ? nil : "\(limit.map { "limit:\($0)" } ?? "\(name)")=\(words[1])"
    }.joined(separator: " ").replacing("_total", with: "")
  }

  /// What a client receives until the end, for bytes that it sends in pieces, a millisecond apart.
  static func answers(
    _ pieces: [String], limits: ServerLimits = ServerLimits(), ends: Bool = false, seed: Seed? = nil,
    _ handler: @escaping Handler
  ) -> Answers {
    answers(bytes: pieces.map { Array($0.utf8) }, limits: limits, ends: ends, seed: seed, handler)
  }

  /// - Parameter ends: Whether the client sends no more after the pieces, and says so.
  static func answers(
    bytes pieces: [[UInt8]], limits: ServerLimits = ServerLimits(), ends: Bool = false, seed: Seed? = nil,
    _ handler: @escaping Handler
  ) -> Answers {
    withSimulation(seed: seed) { simulation in
      let scene = Scene(simulation, limits: limits, handler)
      let received = Trace()
      let ending = Trace()
      scene.connect { client in
        let loop = client.connection.loop
        // A server that has answered may have closed before the client has sent all.
        let writing = Task(executorPreference: loop) {
          for (place, piece) in pieces.enumerated() {
            if place > 0 { try await loop.clock.sleep(for: .milliseconds(1)) }
            try await client.connection.write(piece)
          }
          if ends { try await client.connection.finishWriting() }
        }
        do {
          while let bytes = try await client.connection.read() { received.note(String(decoding: bytes, as: UTF8.self)) }
          ending.note("end")
        } catch let error as ConnectionError {
          ending.note(error == .socket(.reset) ? "reset" : "\(error)")
        }
        ending.note("\(simulation.elapsed.components.seconds)")
        writing.cancel()
        client.connection.close()
      }
      simulation.run(for: .seconds(300))
      return Answers(
        text: received.tokens.joined(), end: ending.tokens.first ?? "none",
        second: ending.tokens.last.flatMap { Int($0) } ?? -1, errors: scene.errors.tokens)
    }
  }
}

/// What a client received.
struct Answers: Equatable {
  /// All bytes, without the field `Date`.
  let text: String
  /// How the connection ended.
  let end: String
  /// In which second it ended. An idle connection ends in the 60th.
  let second: Int
  /// What the server was told that a handler threw.
  let errors: [String]

  init(text: String, end: String, second: Int, errors: [String]) {
    self.text = withoutDate(text)
    (self.end, self.second, self.errors) = (end, second, errors)
  }

  /// The first word after the version in each status line.
  var statuses: [Int] {
    text.split(separator: "HTTP/1.1 ", omittingEmptySubsequences: true).compactMap { Int($0.prefix(3)) }
  }
}

/// A client's end of a connection.
struct Client: Sendable {
  let connection: Connection
  let trace: Trace

  func send(_ text: String) async throws { try await connection.write(text) }

  /// Reads one response, and no byte more; without the field `Date`.
  func response() async throws -> String { withoutDate(try await wholeResponse()) }

  func wholeResponse() async throws -> String {
    var text = ""
    var (length, isChunked) = (0, false)
    while let line = try await connection.read(through: UInt8(ascii: "\n")) {
      text += String(decoding: line, as: UTF8.self)
      let word = String(decoding: line, as: UTF8.self).lowercased()
      if word.hasPrefix("content-length: ") { length = Int(word.dropFirst(16).dropLast()) ?? 0 }
      if word == "transfer-encoding: chunked\r\n" { isChunked = true }
      if word == "\r\n" { break }
    }
    if length > 0 { text += String(decoding: try await connection.read(exactly: length) ?? [], as: UTF8.self) }
    while isChunked, let line = try await connection.readLine() {
      text += line + "\r\n"
      guard let size = Int(line, radix: 16) else { break }
      if size > 0 { text += String(decoding: try await connection.read(exactly: size + 2) ?? [], as: UTF8.self) }
      if size == 0 {
        while let trailer = try await connection.readLine() {
          text += trailer + "\r\n"
          if trailer.isEmpty { break }
        }
        break
      }
    }
    return text
  }
}

/// Answers with the method, the target and the body.
let echo: Handler = { request, response in
  let body = try await request.body.collect()
  try await response.send(
    HTTPResponse(status: .ok),
    body: Array("\(request.head.method) \(request.head.path ?? "-") \(String(decoding: body, as: UTF8.self))".utf8))
}

/// Leaves out what the server says of the time in a simulation's first hour.
func withoutDate(_ text: String) -> String {
  var parts = text.split(separator: "date: Thu, 01 Jan 2026 00:", omittingEmptySubsequences: false)[...]
  let first = parts.popFirst() ?? ""
  return first
    + parts.map { part in
      precondition(part.dropFirst(5).hasPrefix(" GMT\r\n"))
      return String(part.dropFirst(10))
    }.joined()
}

/// A whole response of `echo`.
func ok(_ body: String, _ fields: String = "") -> String {
  "HTTP/1.1 200 OK\r\n\(fields)content-length: \(body.utf8.count)\r\n\r\n\(body)"
}

/// A whole response to a client that broke a rule.
func refusal(_ status: HTTPResponse.Status) -> String {
  "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
}
