import HTTPTypes
import Rondo
import RondoHTTP
import RondoSockets
import RondoTesting
import Testing

/// What a handler does with a response, and what the client sees of that.
@Suite struct ResponseTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test func `a streamed response is sent in chunks, and ends with the handler`() {
    let answers = Scene.answers([Self.get + Self.get]) { _, response in
      try await response.start(HTTPResponse(status: .ok))
      try await response.write(Self.bytes("hello, "))
      try await response.write([])
      try await response.write(Self.bytes("this is ten and six"))
    }
    let one = Self.chunked + "7\r\nhello, \r\n13\r\nthis is ten and six\r\n0\r\n\r\n"
    #expect(answers == Answers(text: one + one, end: "end", second: 60, errors: []))
  }

  @Test func `trailers follow the chunks`() {
    let answers = Scene.answers([Self.get]) { _, response in
      try await response.start(HTTPResponse(status: .ok))
      try await response.write(Self.bytes("a"))
      try await response.finish(trailers: [.init("X-Sum")!: "97"])
    }
    #expect(answers.text == Self.chunked + "1\r\na\r\n0\r\nX-Sum: 97\r\n\r\n")
  }

  @Test func `a streamed response of a known length has no chunks`() {
    let answers = Scene.answers([Self.get + Self.get]) { _, response in
      try await response.start(HTTPResponse(status: .ok, headerFields: [.contentLength: "5"]))
      try await response.write(Self.bytes("he"))
      try await response.write(Self.bytes("llo"))
      try await response.finish()
    }
    #expect(answers.text == ok("hello") + ok("hello"))
  }

  @Test func `a streamed response to HTTP 1·0 ends with the connection`() {
    let answers = Scene.answers(["GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"]) { _, response in
      try await response.start(HTTPResponse(status: .ok))
      try await response.write(Self.bytes("hel"))
      try await response.write(Self.bytes("lo"))
    }
    let expected = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello"
    #expect(answers == Answers(text: expected, end: "end", second: 0, errors: []))
  }

  @Test func `more than the length is not sent, and the client sees a cut`() {
    let answers = Scene.answers([Self.get + Self.get]) { _, response in
      try await response.start(HTTPResponse(status: .ok, headerFields: [.contentLength: "5"]))
      try await response.write(Self.bytes("hel"))
      try await response.write(Self.bytes("lo you"))
    }
    #expect(answers.text == "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel")
    #expect(answers.second == 0)
    #expect(answers.errors == ["\(HTTPServerError.wrongLength(sent: 9, expected: 5))"])
  }

  @Test func `less than the length is a cut`() {
    let answers = Scene.answers([Self.get]) { _, response in
      try await response.start(HTTPResponse(status: .ok, headerFields: [.contentLength: "5"]))
      try await response.write(Self.bytes("hel"))
    }
    #expect(answers.text == "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel")
    #expect(answers.second == 0)
    #expect(answers.errors == ["\(HTTPServerError.wrongLength(sent: 3, expected: 5))"])
  }

  @Test(arguments: ["-5", "5, 5", "x", "99999999999999999999"])
  func `a length that is none is left out`(length: String) {
    let answers = Scene.answers([Self.get]) { _, response in
      try await response.start(HTTPResponse(status: .ok, headerFields: [.contentLength: length]))
      try await response.write(Self.bytes("abcde"))
    }
    #expect(answers.text == Self.chunked + "5\r\nabcde\r\n0\r\n\r\n")
  }

  @Test func `a second response is refused`() {
    let trace = Trace()
    let answers = Scene.answers([Self.get]) { _, response in
      try await response.send(HTTPResponse(status: .ok), body: Self.bytes("1"))
      for call in 0..<4 {
        do {
          switch call {
          case 0: try await response.send("2")
          case 1: try await response.start(HTTPResponse(status: .ok))
          case 2: try await response.write([1])
          default: try await response.finish()
          }
        } catch {
          trace.note(error as? HTTPServerError == .over ? "over" : "\(error)")
        }
      }
    }
    #expect(answers.text == ok("1"))
    #expect(trace.tokens == ["over", "over", "over", "over"])
  }

  @Test func `a handler without a response is told, and its client gets 500`() {
    let answers = Scene.answers([Self.get + Self.get]) { _, _ in }
    let expected = Answers(
      text: refusal(.internalServerError), end: "end", second: 0, errors: ["\(HTTPServerError.noResponse)"])
    #expect(answers == expected)
  }

  @Test func `a response that is not final is none`() {
    let answers = Scene.answers([Self.get]) { _, response in
      try await response.send(HTTPResponse(status: .init(code: 103)))
    }
    #expect(answers.text == refusal(.internalServerError))
    #expect(answers.errors == ["\(HTTPServerError.noResponse)"])
  }

  private struct Failure: Error {}

  @Test func `a client whose handler throws gets 500`() {
    let answers = Scene.answers([Self.get + Self.get]) { _, _ in throw Failure() }
    #expect(answers == Answers(text: refusal(.internalServerError), end: "end", second: 0, errors: ["Failure()"]))
  }

  @Test func `a response that has begun is cut when its handler throws`() {
    let answers = Scene.answers([Self.get + Self.get]) { _, response in
      try await response.start(HTTPResponse(status: .ok))
      try await response.write(Self.bytes("abc"))
      throw Failure()
    }
    #expect(answers.text == Self.chunked + "3\r\nabc\r\n")
    #expect(answers.second == 0)
    #expect(answers.errors == ["Failure()"])
  }

  @Test func `a whole response arrives though its handler throws, and the connection closes`() {
    let answers = Scene.answers([Self.get + Self.get]) { _, response in
      try await response.send(HTTPResponse(status: .ok), body: Self.bytes("abc"))
      throw Failure()
    }
    #expect(answers == Answers(text: ok("abc"), end: "end", second: 0, errors: ["Failure()"]))
  }

  @Test func `an error with a status gives the client that, and is no error of the server`() {
    let answers = Scene.answers([Self.get]) { _, _ in throw HTTPServerError.refused(.forbidden) }
    #expect(answers == Answers(text: refusal(.forbidden), end: "end", second: 0, errors: []))
  }

  @Test func `after its handler has returned, neither request nor response can be used`() {
    let trace = Trace()
    withSimulation { simulation in
      let scene = Scene(simulation) { request, response in
        let loop = simulation.hosts[0].loop
        Task(executorPreference: loop) {
          try await loop.clock.sleep(for: .seconds(1))
          for call in 0..<4 {
            do throws(HTTPServerError) {
              switch call {
              case 0: _ = try await request.body.collect()
              case 1: try await response.write([1])
              case 2: try await response.send("x")
              default: _ = try await response.upgrade([:])
              }
            } catch {
              trace.note(error == .over ? "over" : "\(error)")
            }
          }
        }
        try await response.start(HTTPResponse(status: .ok))
      }
      scene.connect { client in
        // The rest of the body comes later: the server waits for it after the handler.
        try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na")
        try await client.connection.loop.clock.sleep(for: .seconds(2))
        try await client.send("bc" + Self.get)
        for _ in 0..<2 { client.trace.note(try await client.response()) }
      }
      simulation.run(for: .seconds(10))
      #expect(scene.trace.tokens == [Self.chunked + "0\r\n\r\n", Self.chunked + "0\r\n\r\n"])
    }
    #expect(trace.tokens.prefix(4) == ["over", "over", "over", "over"])
  }

  @Test func `what breaks a line of a field is neutralised`() {
    let evil = "a\r\nSet-Cookie: x\r\n\r\nGET /\0 b"
    let answers = Scene.answers([Self.get]) { _, response in
      var head = HTTPResponse(status: .init(code: 200, reasonPhrase: "O\r\nX: y"), headerFields: [.location: evil])
      head.headerFields.append(HTTPField(name: .init("X-L")!, lenientValue: Array(evil.utf8)))
      try await response.start(head)
      try await response.finish(trailers: [.init("X-T")!: evil])
    }
    let value = "a  Set-Cookie: x    GET /  b"
    #expect(
      answers.text
        == "HTTP/1.1 200 O  X: y\r\nLocation: \(value)\r\nX-L: \(value)\r\ntransfer-encoding: chunked\r\n\r\n"
        + "0\r\nX-T: \(value)\r\n\r\n")
  }

  @Test func `what frames the response is the server's to say`() {
    let answers = Scene.answers([Self.get]) { _, response in
      let head = HTTPResponse(
        status: .ok,
        headerFields: [.contentLength: "99", .transferEncoding: "gzip", .connection: "x", .date: "today", .server: "s"])
      try await response.send(head, body: Self.bytes("abc"))
    }
    #expect(answers.text == "HTTP/1.1 200 OK\r\nDate: today\r\nServer: s\r\ncontent-length: 3\r\n\r\nabc")
  }

  @Test func `several tasks of a handler write whole chunks`() {
    let answers = Scene.answers([Self.get + Self.get]) { _, response in
      try await response.start(HTTPResponse(status: .ok))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask { for _ in 0..<3 { try await response.write(Array(repeating: 0x61, count: 6_000)) } }
        }
        try await group.waitForAll()
      }
    }
    let chunk = "1770\r\n" + String(repeating: "a", count: 6_000) + "\r\n"
    let one = Self.chunked + String(repeating: chunk, count: 12) + "0\r\n\r\n"
    #expect(answers.text == one + one)
  }

  @MainActor private final class Counter {
    var count = 0
  }

  @Test func `a handler of the main actor works on another loop`() async throws {
    let counter = Counter()
    let server = HTTPServer { @MainActor request, response in
      MainActor.assertIsolated()
      counter.count += try await request.body.collect().count
      try await response.send("\(counter.count)")
    }
    try await withLoopThread(name: "server") { thread in
      let (near, far) = try Connection.pair(on: thread.loop)
      let serving = Task { try await server.serve(far) }
      let client = Client(connection: near, trace: Trace())
      for number in 1...3 {
        try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy")
        let response = try await client.response()
        #expect(response.hasSuffix("\r\n\r\n\(2 * number)"))
      }
      near.close()
      try await serving.value
    }
  }

  @Test func `the date changes once a second, and an idle loop has no timer for it`() {
    withSimulation { simulation in
      let scene = Scene(simulation, limits: .none, echo)
      let loop = scene.server.loop
      scene.connect { client in
        for pause in [0, 400, 599, 1] {
          try await client.connection.loop.clock.sleep(for: .milliseconds(pause))
          try await client.send(Self.get)
          client.trace.note(String(try await client.wholeResponse().split(separator: "\r\n")[1].suffix(6)))
        }
      }
      simulation.run(for: .milliseconds(900))
      simulation.run(for: .seconds(5))
      #expect(scene.trace.tokens == ["00 GMT", "00 GMT", "00 GMT", "01 GMT"])
      #expect(loop.nextFireDate(in: .default) == nil)
    }
  }
}
