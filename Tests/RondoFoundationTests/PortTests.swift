import Rondo
import RondoFoundation
import RondoTesting
import Testing

/// Messages between threads: what is sent, when it is handled, and in which mode.
@Suite struct PortTests {
  /// A delegate that does what it is told.
  final class Handler: PortDelegate, @unchecked Sendable {
    private let body: (PortMessage) -> Void

    init(_ body: @escaping (PortMessage) -> Void) {
      self.body = body
    }

    func handle(_ message: PortMessage) { body(message) }
  }

  // MARK: - In virtual time

  @Test func `messages are handled in order, one a turn, in the port's mode`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let port = Port()
      let handler = Handler { trace.note("\($0.msgid)@\(RunLoop.current.currentMode!.rawValue)") }
      port.setDelegate(handler)
      RunLoop.current.add(port, forMode: RunLoop.Mode("other"))
      for number in 1...3 { #expect(send(port, number)) }
      virtual.loop.run(for: .zero)
      trace.note("|")
      for _ in 0..<2 {
        virtual.loop.run(in: "other", for: .zero)
        trace.note("|")
      }
      virtual.runUntilIdle(in: "other")
      #expect(trace.text == "| 1@other | 2@other | 3@other")
    }
  }

  @Test func `a message wakes the sleeping loop when it is sent`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let port = Port()
      let handler = Handler { _ in trace.note("\(virtual.elapsed)") }
      port.setDelegate(handler)
      RunLoop.current.add(port, forMode: .common)
      virtual.at(.seconds(3)) { _ = send(port, 0) }
      virtual.advance(by: .seconds(10))
      #expect(trace.text == "3.0 seconds")
    }
  }

  @Test func `a message handled is the run's source`() {
    withVirtualLoop { virtual in
      let port = Port()
      RunLoop.current.add(port, forMode: .default)
      send(port, 0)
      #expect(virtual.loop.run(in: .default, for: .seconds(1), returnAfterSourceHandled: true) == .handledSource)
    }
  }

  @Test func `components arrive in order, data copied, with the port to answer to`() throws {
    try withVirtualLoop { virtual in
      var messages: [PortMessage] = []
      let (port, answers, third) = (Port(), Port(), Port())
      let handler = Handler { messages.append($0) }
      port.setDelegate(handler)
      RunLoop.current.add(port, forMode: .default)
      let mutable = NSMutableData(data: Data([4, 5]))
      let components = NSMutableArray(array: [Data([1]), third, mutable])
      #expect(port.send(before: .now, msgid: 7, components: components, from: answers, reserved: 0))
      mutable.append(Data([6]))
      virtual.runUntilIdle()
      let message = try #require(messages.first)
      let received = try #require(message.components)
      #expect(received.count == 3)
      #expect((received[0] as? NSData)?.isEqual(to: Data([1])) == true)
      let isThird = received[1] === third
      #expect(isThird)
      #expect((received[2] as? NSData)?.isEqual(to: Data([4, 5])) == true)
      #expect(message.msgid == 7)
      #expect(message.sendPort === answers && message.receivePort === port)
    }
  }

  @Test func `a message can be answered through its send port`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let (server, client) = (Port(), Port())
      let serverHandler = Handler { message in
        trace.note("asked")
        let answer = PortMessage(
          sendPort: message.sendPort, receivePort: message.receivePort, components: message.components)
        answer.msgid = message.msgid + 1
        #expect(answer.send(before: .now))
      }
      let clientHandler = Handler { trace.note("answered \($0.msgid)") }
      server.setDelegate(serverHandler)
      client.setDelegate(clientHandler)
      RunLoop.current.add(server, forMode: .default)
      RunLoop.current.add(client, forMode: .default)
      let question = PortMessage(sendPort: server, receivePort: client, components: [NSData()])
      question.msgid = 41
      #expect(question.send(before: .now))
      virtual.runUntilIdle()
      #expect(trace.text == "asked answered 42")
    }
  }

  @Test func `a component of another kind is refused`() {
    #expect(!Port().send(before: .now, components: NSMutableArray(array: ["text"]), from: nil, reserved: 0))
  }

  @Test func `what is sent before the port is in a loop waits for it`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let port = Port()
      let handler = Handler { trace.note("\($0.msgid)") }
      port.setDelegate(handler)
      send(port, 1)
      send(port, 2)
      RunLoop.current.add(port, forMode: .default)
      virtual.runUntilIdle()
      #expect(trace.text == "1 2")
    }
  }

  @Test func `out of the loop messages wait, and a second add changes nothing`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let port = Counted()
      let handler = Handler { trace.note("\($0.msgid)") }
      port.setDelegate(handler)
      RunLoop.current.add(port, forMode: .default)
      RunLoop.current.add(port, forMode: .default)
      RunLoop.current.remove(port, forMode: .default)
      RunLoop.current.remove(port, forMode: .default)
      #expect(port.calls == ["schedule", "remove"])
      send(port, 1)
      virtual.runUntilIdle()
      #expect(trace.text == "")
      RunLoop.current.add(port, forMode: .default)
      virtual.runUntilIdle()
      #expect(trace.text == "1")
    }
  }

  @Test func `a handler that takes its port out of the loop hears no more`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let port = Port()
      let handler = Handler { message in
        trace.note("\(message.msgid)")
        RunLoop.current.remove(port, forMode: .default)
      }
      port.setDelegate(handler)
      RunLoop.current.add(port, forMode: .default)
      send(port, 1)
      send(port, 2)
      virtual.runUntilIdle()
      #expect(trace.text == "1")
    }
  }

  @Test func `an invalid port takes no messages, drops what waits, and says so once`() {
    withVirtualLoop { virtual in
      let trace = Trace()
      let port = Port()
      let handler = Handler { _ in trace.note("handled") }
      port.setDelegate(handler)
      RunLoop.current.add(port, forMode: .default)
      send(port, 1)
      let note = trace.note
      let token = NotificationCenter.default.addObserver(
        forName: Port.didBecomeInvalidNotification, object: port, queue: nil
      ) { _ in note("invalid") }
      defer { NotificationCenter.default.removeObserver(token) }
      port.invalidate()
      port.invalidate()
      virtual.runUntilIdle()
      #expect(trace.text == "invalid")
      #expect(!port.isValid && !send(port, 2))
    }
  }

  @Test func `without room a sender waits until its limit date and is told`() {
    let port = Port()
    port.queueLimit = 2
    #expect(send(port, 1) && send(port, 2))
    let start = SuspendingClock.now
    #expect(!port.send(before: Date(timeIntervalSinceNow: 0.02), components: nil, from: nil, reserved: 0))
    // The limit is the wall clock's, which may be a little ahead.
    #expect(SuspendingClock.now - start >= .milliseconds(19))
  }

  @Test func `the loop keeps a port alive until it leaves, and its delegate is its owner's`() {
    withVirtualLoop { virtual in
      weak var port: Port?
      weak var handler: Handler?
      do {
        let made = Port()
        let handling = Handler { _ in }
        made.setDelegate(handling)
        RunLoop.current.add(made, forMode: .default)
        (port, handler) = (made, handling)
      }
      #expect(handler == nil)
      #expect(port?.delegate() == nil)
      #expect(port?.reservedSpaceLength == 0)
      // Without a delegate a message is nobody's.
      if let port { send(port, 1) }
      virtual.runUntilIdle()
      if let port { RunLoop.current.remove(port, forMode: .default) }
      #expect(port == nil)
    }
  }

  // MARK: - Between threads

  @Test func `two threads ask and answer each other a thousand times, in order`() throws {
    let server = Port()
    let echo = Handler { message in
      message.sendPort?.send(
        before: .distantFuture, msgid: Int(message.msgid), components: nil, from: nil, reserved: 0)
    }
    server.setDelegate(echo)
    let serving = try LoopThread(name: "server")
    serving.execute { RunLoop.current.add(server, forMode: .default) }
    let asking = try LoopThread(name: "client")
    let received = try asking.sync { () -> [UInt32] in
      var received: [UInt32] = []
      let answers = Port()
      let collect = Handler { received.append($0.msgid) }
      answers.setDelegate(collect)
      RunLoop.current.add(answers, forMode: .default)
      for number in 0..<1000 {
        server.send(before: .distantFuture, msgid: number, components: nil, from: answers, reserved: 0)
      }
      let end = Date(timeIntervalSinceNow: 60)
      while received.count < 1000, Date.now < end { RunLoop.current.run(mode: .default, before: end) }
      answers.invalidate()
      return received
    }
    #expect(received == Array(0..<1000))
    server.invalidate()
    asking.stop()
    serving.stop()
  }

  // MARK: - Support

  @discardableResult
  private func send(_ port: Port, _ number: Int) -> Bool {
    port.send(before: .now, msgid: number, components: nil, from: nil, reserved: 0)
  }

  /// A port that notes how it is scheduled.
  private final class Counted: Port, @unchecked Sendable {
    var calls: [String] = []

    override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
      calls.append("schedule")
      super.schedule(in: runLoop, forMode: mode)
    }

    override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
      calls.append("remove")
      super.remove(from: runLoop, forMode: mode)
    }
  }
}
