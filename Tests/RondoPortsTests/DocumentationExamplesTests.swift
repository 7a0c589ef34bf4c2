import Glibc
import Rondo
import RondoPorts
import Synchronization
import Testing

/// The example of RondoPorts.docc, compiled and run. `ExampleTextTests` compares it with the page.
@Suite struct DocumentationExamplesTests {
  /// What the example has done.
  private final class Log: Sendable {
    private let notes = Mutex<[String]>([])

    func note(_ text: String) { notes.withLock { $0.append(text) } }

    var text: String { notes.withLock { $0.joined(separator: ", ") } }
  }

  @Test func `RondoPorts: a request`() throws {
    let log = Log()
    func print(_ text: String) { log.note(text) }
    let server = try LoopThread(name: "server")
    let name = try MessagePortName("rondo-documentation-\(getpid())")

    let port = try LocalMessagePort(answering: name) { request in Array(request.bytes.reversed()) }
    server.loop.add(port)

    let remote = try RemoteMessagePort(name)
    let answer = try remote.request(Array("abc".utf8), sendTimeout: .seconds(1), replyTimeout: .seconds(60))
    print(String(decoding: answer ?? [], as: UTF8.self))

    remote.invalidate()
    port.invalidate()
    server.stop()
    #expect(log.text == "cba")
  }
}
