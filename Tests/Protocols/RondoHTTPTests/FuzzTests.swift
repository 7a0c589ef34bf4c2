import Glibc
import HTTPTypes
import Rondo
import RondoHTTP
import RondoSockets
import RondoTesting
import Testing

/// Bytes like those of the attacks, changed by chance. RONDO_FUZZ is the number of inputs; each has its number as seed.
@Suite struct FuzzTests {
  private struct Random: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var word = state
      word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
      return word ^ (word >> 31)
    }
  }

  private static let good = [
    "GET /r HTTP/1.1\r\nHost: a\r\n\r\n", "GET /o1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "POST /r HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\n", "HEAD /r HTTP/1.1\r\nHost: a\r\n\r\n",
    "PUT /o1 HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n0123456789",
    "POST /r HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n1;a\r\nb\r\n0\r\nA: b\r\n\r\n",
    "POST /o1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nGET / HTTP/1\r\n0\r\n\r\n",
    "GET /r HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
  ].map { Array($0.utf8) }
  private static let words = [
    "\r\n", "\r", "\n", "\r\n\r\n", "\0", " ", "\t", ":", "0", "5", ";", "chunked", "Content-Length: 3\r\n", "HTTP/1.1",
    "Transfer-Encoding: chunked\r\n", "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n", "Connection: close\r\n", "Host: b\r\n",
  ].map { Array($0.utf8) }

  /// One to four requests, most of them changed.
  private static func input(_ random: inout Random) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let isGood = Int.random(in: 0...3, using: &random) > 0
      bytes += isGood ? good.randomElement(using: &random)! : Attack.all.randomElement(using: &random)!.bytes
    }
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      let end = min(bytes.count, place + Int.random(in: 1...12, using: &random))
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
      case 2: bytes.insert(contentsOf: words.randomElement(using: &random)!, at: place)
      case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
      default: if bytes.count > end - place { bytes.removeSubrange(place..<end) }
      }
    }
    return bytes
  }

  private static func pieces(_ bytes: [UInt8], _ random: inout Random) -> [[UInt8]] {
    let cuts = (0..<Int.random(in: 1...12, using: &random)).map { _ in Int.random(in: 0...bytes.count, using: &random) }
    let places = [0] + cuts.sorted() + [bytes.count]
    return zip(places, places.dropFirst()).map { Array(bytes[$0..<$1]) }.filter { !$0.isEmpty }
  }

  /// Reads the body, or leaves it, by the path.
  private static func handler(_ paths: Trace) -> Handler {
    { request, response in
      let path = request.head.path ?? "-"
      paths.note(path)
      if path.contains("o") { return try await response.send(HTTPResponse(status: .ok)) }
      let body = try await request.body.collect()
      try await response.start(HTTPResponse(status: .ok))
      try await response.write(body)
      try await response.finish(trailers: request.body.trailers)
    }
  }

  @Test func `any bytes get an end, the same responses however they are split, and no more than their requests`() {
    let count = unsafe getenv("RONDO_FUZZ").flatMap { unsafe Int(String(cString: $0)) } ?? 300
    var served = 0
    for number in 1...count {
      var random = Random(state: UInt64(number))
      let bytes = Self.input(&random)
      let pieces = Self.pieces(bytes, &random)
      let ends = Bool.random(using: &random)
      let (wholePaths, splitPaths) = (Trace(), Trace())
      let whole = Scene.answers(bytes: [bytes], ends: ends, Self.handler(wholePaths))
      let split = Scene.answers(
        bytes: pieces, ends: ends, seed: Seed(UInt64(number)), Self.handler(splitPaths))
      let text = "input \(number): \(String(decoding: bytes, as: UTF8.self).debugDescription)"
      #expect(whole.end != "none" && split.end != "none", "no end of \(text)")
      #expect(whole.text == split.text, "\(text)")
      #expect(wholePaths.tokens == splitPaths.tokens, "\(text)")
      #expect(wholePaths.tokens.count <= StrictReader(bytes).count, "too many of \(text)")
      served += wholePaths.tokens.count
    }
    // Inputs that are all refused would say little.
    #expect(served > count / 2)
  }
}
