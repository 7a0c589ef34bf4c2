import Glibc
import Rondo
import RondoFoundation
import RondoPorts
import Testing

/// Named message ports carrying Data, in run loops.
@Suite struct MessagePortDataTests {
  @Test func `data goes to a named port in a run loop and comes back`() throws {
    let name = try MessagePortName("data-\(getpid())-\(UInt64.random(in: 0 ... .max))")
    let serving = try LoopThread(name: "server")
    defer { serving.stop() }
    let notices = Notes()
    let port = try LocalMessagePort(name) { request in
      if request.wantsReply {
        try? request.reply(Data(request.data.reversed()))
      } else {
        notices.note(String(decoding: request.data, as: UTF8.self))
      }
    }
    try serving.sync { _ = RunLoop.current.add(port, forMode: .common) }
    let reply = try Self.ask(name, Data("abc".utf8))
    #expect(reply == Data("cba".utf8))
    #expect(notices.text == "first")
    port.invalidate()
  }

  private static func ask(_ name: MessagePortName, _ data: Data) throws -> Data? {
    let remote = try RemoteMessagePort(name)
    try remote.send(Data("first".utf8), timeout: .seconds(60))
    return try remote.request(data, sendTimeout: .seconds(60), replyTimeout: .seconds(60), runningMode: .default)
  }
}
