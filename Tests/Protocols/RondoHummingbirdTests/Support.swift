import Hummingbird
import Logging
import Rondo
import RondoHTTP
import RondoHummingbird
import RondoSockets
import RondoTesting

let address = try! SocketAddress(parsing: "10.0.0.1:80")
/// It keeps metadata, without which Hummingbird's `context.id` ends the process.
let silent = Logger(label: "silent", factory: { _ in TracingLogHandler(trace: Trace()) })

/// A request as a client writes it.
func request(_ line: String, _ fields: String..., body: String? = nil) -> String {
  var lines = ["\(line) HTTP/1.1", "Host: a"] + fields
  if let body { lines.append("Content-Length: \(body.utf8.count)") }
  return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
}

/// Serves routes on a host, and asks them over one connection from another; all that is answered.
func ask<Context: RequestContext>(
  _ router: Router<Context>, _ requests: String..., limits: ServerLimits = ServerLimits(), logger: Logger = silent,
  onError: (@Sendable (any Error) -> Void)? = nil
) -> [Answer] where Context.Source == ApplicationRequestContextSource {
  let responder = router.buildResponder()
  let text = withSimulation { simulation in
    let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
    let (serverLoop, clientLoop) = (server.loop, client.loop)
    let trace = Trace()
    server.start {
      try await Listener(at: address).serveHTTP(
        on: serverLoop, HTTPServer(responder: responder, logger: logger), limits: limits, onError: onError)
    }
    client.start {
      let connection = try await Connection.connected(to: address, on: clientLoop)
      // It reads meanwhile: a server that waits for room reads no more.
      let text = requests.joined()
      async let written: Void = write(text, to: connection)
      while let bytes = try await connection.read() { trace.note(String(decoding: bytes, as: UTF8.self)) }
      try await written
    }
    simulation.run(for: .seconds(300))
    return trace.tokens.joined()
  }
  return Answer.all(in: text, toHead: requests[0].hasPrefix("HEAD"))
}

private func write(_ text: String, to connection: Connection) async throws {
  try await connection.write(text)
  try await connection.finishWriting()
}

/// A response as a client sees it.
struct Answer: Equatable, CustomStringConvertible {
  var status = 0
  var fields: [String: String] = [:]
  var body = ""
  var trailers: [String: String] = [:]
  /// Whether its end was seen: that of its length, or of its chunks.
  var isWhole = true

  var description: String { body.isEmpty ? "\(status)" : "\(status) \(body)" }

  /// The responses in a text.
  static func all(in text: String, toHead: Bool = false) -> [Answer] {
    var rest = Substring(text.replacing("\r\n", with: "\n"))
    var answers: [Answer] = []
    while !rest.isEmpty {
      var answer = Answer()
      answer.status = Int(takeLine(&rest).dropFirst(9).prefix(3)) ?? 0
      answer.fields = takeFields(&rest)
      if toHead {
        answers.append(answer)
        continue
      }
      if answer.fields["transfer-encoding"] == "chunked" {
        answer.isWhole = false
        while let count = Int(takeLine(&rest), radix: 16) {
          if count == 0 {
            answer.isWhole = true
            answer.trailers = takeFields(&rest)
            break
          }
          answer.body += take(count, &rest)
          _ = takeLine(&rest)
        }
      } else if let count = answer.fields["content-length"].flatMap({ Int($0) }) {
        answer.body = take(count, &rest)
        answer.isWhole = answer.body.utf8.count == count
      }
      answers.append(answer)
    }
    return answers
  }

  private static func take(_ count: Int, _ rest: inout Substring) -> String {
    defer { rest = rest.dropFirst(count) }
    return String(rest.prefix(count))
  }

  private static func takeLine(_ rest: inout Substring) -> Substring {
    let line = rest.prefix { $0 != "\n" }
    rest = rest.dropFirst(line.count + 1)
    return line
  }

  private static func takeFields(_ rest: inout Substring) -> [String: String] {
    var fields: [String: String] = [:]
    while true {
      let line = takeLine(&rest)
      guard let colon = line.firstIndex(of: ":") else { return fields }
      fields[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
    }
  }
}

/// A handler that gives each message, with its metadata, to a trace.
struct TracingLogHandler: LogHandler {
  let trace: Trace
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { trace.note("\(event.message) \(metadata["hb.request.id"].map { "\($0)" } ?? "-")") }
}
