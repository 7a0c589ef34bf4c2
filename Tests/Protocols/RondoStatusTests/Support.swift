import Foundation
import Testing

/// The example `rondo-status`, as soon as it listens.
func status(descriptors: Int = 1024, as path: String = "rondo-status", errors: FileHandle = .nullDevice) throws
  -> Daemon
{
  let daemon = try Daemon(path, descriptors: descriptors, errors: errors)
  #expect(try daemon.firstLine().hasPrefix("Pages at \(daemon.name), input at 127."))
  return daemon
}

/// How far the ports of the input and of the console are from that of the pages.
let (inputPort, consolePort) = (UInt16(1), UInt16(2))

/// A request for a page.
func get(_ path: String, _ fields: String = "", method: String = "GET") -> [UInt8] {
  Array("\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8)
}

/// What a server of HTTP answers.
struct Answer: Equatable {
  let status: Int
  /// By their names in small letters.
  let fields: [String: String]
  let body: String

  /// The first answer of `bytes`, and what follows it; nil unless it is whole.
  ///
  /// - Parameter hasBody: False for the answer to HEAD.
  static func first(in bytes: ArraySlice<UInt8>, hasBody: Bool = true) -> (answer: Answer, rest: ArraySlice<UInt8>)? {
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ": ", maxSplits: 1)
      guard parts.count == 2, fields.updateValue(String(parts[1]), forKey: parts[0].lowercased()) == nil else {
        return nil
      }
    }
    guard lines[0].hasPrefix("HTTP/1.1 "), let status = Int(lines[0].dropFirst(9).prefix(3)),
      let length = fields["content-length"].flatMap({ Int($0) })
    else { return nil }
    let body = bytes[end.upperBound...].prefix(hasBody ? length : 0)
    guard body.count == length || !hasBody else { return nil }
    return (
      Answer(status: status, fields: fields, body: String(decoding: body, as: UTF8.self)), bytes[body.endIndex...]
    )
  }

  /// All of `bytes`, which are whole answers.
  static func all(in bytes: [UInt8]) throws -> [Answer] {
    var (answers, rest) = ([Answer](), bytes[...])
    while !rest.isEmpty {
      let (answer, next) = try #require(first(in: rest), "no answer: \(String(decoding: rest, as: UTF8.self))")
      answers.append(answer)
      rest = next
    }
    return answers
  }
}

extension Client {
  /// What comes up to the first such text; less only at the end.
  func read(through text: String) throws -> String {
    var bytes: [UInt8] = []
    while !bytes.reversed().starts(with: text.utf8.reversed()), let byte = try receive(1).first { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Asks for a page, and reads the answer.
  func ask(_ request: [UInt8], hasBody: Bool = true) throws -> Answer {
    try send(request)
    return try answer(hasBody: hasBody)
  }

  func answer(hasBody: Bool = true) throws -> Answer {
    var bytes = Array(try read(through: "\r\n\r\n").utf8)
    let match = String(decoding: bytes, as: UTF8.self).firstMatch(of: /Content-Length: (\d+)/.ignoresCase())
    let length = try #require(match.flatMap { Int($0.output.1) })
    // A call for no bytes would wait for one.
    if hasBody, length > 0 { bytes += try receive(length) }
    return try #require(Answer.first(in: bytes[...], hasBody: hasBody)).answer
  }

  /// Whether it gets a page.
  func isAnswered() throws -> Bool { try ask(get("/healthz")).body == "ok\n" }

  /// Asks the console.
  func say(_ line: String, until end: String = "\n") throws -> String {
    try send("\(line)\n".utf8)
    return try read(through: end)
  }
}

extension Daemon {
  func metrics() throws -> Metrics { try Metrics(Client(self).ask(get("/metrics")).body) }

  /// Waits until its page tells this.
  func waitForMetric(_ name: String, _ isRight: (Double) -> Bool) throws {
    try wait("for \(name)") { try metrics().values[name].map(isRight) == true }
  }

  /// What was counted under a name.
  func sum(_ name: String) throws -> Int? {
    try metrics().values[#"status_count_total{name="\#(name)"}"#].map { Int($0) }
  }

  var refused: Int { get throws { Int(try #require(try metrics().values["status_refused_total"])) } }
}

/// Sends datagrams to a daemon's input.
final class Sender: Sendable {
  private let descriptor: CInt

  init(_ daemon: Daemon, at distance: UInt16 = inputPort) throws {
    descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try #require(descriptor >= 0)
    var address = daemon.address
    address.sin_port = (UInt16(bigEndian: address.sin_port) + distance).bigEndian
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        unsafe connect(descriptor, name, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(result == 0, "connect: errno \(errno)")
  }

  deinit { close(descriptor) }

  /// Whether the datagram was sent, and the one before it met a socket.
  @discardableResult
  func send(_ bytes: some Collection<UInt8>) -> Bool {
    let bytes = Array(bytes)
    return unsafe Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count
  }
}
