import Glibc
import Rondo
import RondoFoundation
import RondoSockets
import RondoTestSupport
import Testing

/// Ports reached by sockets, with the real kernel between them; and with Foundation's own at the other end.
@Suite struct SocketPortTests {
  /// What a thread with a run loop got, until it has `count` messages.
  private final class Receiver: PortDelegate, @unchecked Sendable {
    private(set) var messages: [PortMessage] = []
    private let act: (PortMessage) -> Void

    init(_ act: @escaping (PortMessage) -> Void = { _ in }) {
      self.act = act
    }

    func handle(_ message: PortMessage) {
      messages.append(message)
      act(message)
    }

    func run(until count: Int, mode: RunLoop.Mode = .default) {
      let end = Date(timeIntervalSinceNow: 60)
      while messages.count < count, Date.now < end { RunLoop.current.run(mode: mode, before: end) }
    }

    var texts: [String] {
      messages.flatMap { $0.components ?? [] }.map { component in
        (component as? NSData).map { String(decoding: Data(referencing: $0), as: UTF8.self) } ?? "port"
      }
    }
  }

  private static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
    let thread = try LoopThread()
    defer { thread.stop() }
    return try thread.sync { try body() }
  }

  private static func remote(of port: SocketPort) throws -> SocketPort {
    try #require(SocketPort(remoteWithTCPPort: tcpPort(of: port), host: "127.0.0.1"))
  }

  private static func tcpPort(of port: SocketPort) throws -> UInt16 {
    try #require(try SocketAddress(data: port.address).port)
  }

  private static func texts(_ texts: String...) -> NSMutableArray {
    NSMutableArray(array: texts.map { Data($0.utf8) })
  }

  // MARK: - Receiving and sending

  @Test(arguments: [RunLoop.Mode.default, .common])
  func `messages of a remote port come in order, each whole`(_ mode: RunLoop.Mode) throws {
    let texts = try Self.onThread {
      let port = SocketPort()
      let receiver = Receiver()
      port.setDelegate(receiver)
      RunLoop.current.add(port, forMode: mode)
      let remote = try Self.remote(of: port)
      for number in 0..<128 {
        #expect(
          remote.send(before: .distantFuture, components: Self.texts("\(number)", "!"), from: nil, reserved: 0))
      }
      receiver.run(until: 128)
      port.invalidate()
      return receiver.texts
    }
    #expect(texts == (0..<128).flatMap { ["\($0)", "!"] })
  }

  @Test func `a port on an open socket receives by it, and a number that is no socket makes none`() throws {
    let texts = try Self.onThread {
      let listener = try Socket.listening(at: try SocketAddress(parsing: "127.0.0.1:0"))
      let native = dup(listener.descriptor)
      let (family, stream, tcp) = (CInt(AF_INET), CInt(SOCK_STREAM.rawValue), CInt(IPPROTO_TCP))
      let port = try #require(SocketPort(protocolFamily: family, socketType: stream, protocol: tcp, socket: native))
      #expect(port.socket == native)
      let receiver = Receiver()
      port.setDelegate(receiver)
      RunLoop.current.add(port, forMode: .default)
      let remote = try Self.remote(of: port)
      #expect(remote.send(before: .distantFuture, components: Self.texts("adopted"), from: nil, reserved: 0))
      receiver.run(until: 1)
      port.invalidate()
      #expect(SocketPort(protocolFamily: family, socketType: stream, protocol: tcp, socket: -1) == nil)
      return receiver.texts
    }
    #expect(texts == ["adopted"])
  }

  @Test func `a message says what it is, whom it came to, and where to answer`() throws {
    let answer = try Self.onThread {
      let (port, answers) = (SocketPort(), SocketPort())
      let receiver = Receiver { message in
        #expect(message.msgid == 7 && message.receivePort === port)
        message.sendPort?.send(
          before: .distantFuture, msgid: 8, components: Self.texts("pong"), from: nil, reserved: 0)
      }
      let asker = Receiver()
      port.setDelegate(receiver)
      answers.setDelegate(asker)
      for port in [port, answers] { RunLoop.current.add(port, forMode: .default) }
      let components = NSMutableArray(array: [Data("ping".utf8), answers])
      let remote = try Self.remote(of: port)
      #expect(remote.send(before: .distantFuture, msgid: 7, components: components, from: answers, reserved: 0))
      asker.run(until: 1)
      #expect(receiver.texts == ["ping", "port"])
      let sent = try #require(receiver.messages[0].components?[1] as? SocketPort)
      #expect(try Self.tcpPort(of: sent) == Self.tcpPort(of: answers))
      return "\(asker.messages[0].msgid) \(asker.texts)"
    }
    #expect(answer == "8 [\"pong\"]")
  }

  @Test func `a datagram port takes messages too`() throws {
    let texts = try Self.onThread {
      let address = SocketAddress.loopback().data
      let type = CInt(SOCK_DGRAM.rawValue)
      let port = try #require(
        SocketPort(protocolFamily: AF_INET, socketType: type, protocol: CInt(IPPROTO_UDP), address: address))
      let receiver = Receiver()
      port.setDelegate(receiver)
      RunLoop.current.add(port, forMode: .default)
      let remote = SocketPort(
        remoteWithProtocolFamily: AF_INET, socketType: type, protocol: CInt(IPPROTO_UDP), address: port.address)
      #expect(remote.send(before: .distantFuture, components: Self.texts("a", ""), from: nil, reserved: 0))
      receiver.run(until: 1)
      return receiver.texts
    }
    #expect(texts == ["a", ""])
  }

  @Test func `what is no message closes its connection, and others live on`() throws {
    try Self.onThread {
      let port = SocketPort()
      let receiver = Receiver()
      port.setDelegate(receiver)
      RunLoop.current.add(port, forMode: .default)
      let remote = try Self.remote(of: port)
      #expect(remote.send(before: .distantFuture, components: Self.texts("before"), from: nil, reserved: 0))
      receiver.run(until: 1)
      let address = SocketAddress.loopback(port: try Self.tcpPort(of: port))
      let ended = Receiver()
      let bad = try SocketSource(connectingTo: address, for: .data) { source, event in
        switch event {
        case .connected: try? source.send(Data("GET / HTTP/1.1\r\n\r\n".utf8))
        case .end, .failed: ended.handle(PortMessage(sendPort: nil, receivePort: nil, components: nil))
        default: break
        }
      }
      RunLoop.current.add(bad, forMode: .default)
      ended.run(until: 1)
      #expect(ended.messages.count == 1)
      #expect(remote.send(before: .distantFuture, components: Self.texts("after"), from: nil, reserved: 0))
      receiver.run(until: 2)
      #expect(receiver.texts == ["before", "after"])
    }
  }

  @Test func `out of the loop messages wait, in the socket or the inbox`() throws {
    let texts = try Self.onThread {
      let port = SocketPort()
      let mode = RunLoop.Mode("other")
      let receiver = Receiver()
      port.setDelegate(receiver)
      let remote = try Self.remote(of: port)
      RunLoop.current.add(port, forMode: mode)
      #expect(remote.send(before: .distantFuture, components: Self.texts("1"), from: nil, reserved: 0))
      receiver.run(until: 1, mode: mode)
      RunLoop.current.remove(port, forMode: mode)
      #expect(remote.send(before: .distantFuture, components: Self.texts("2"), from: nil, reserved: 0))
      #expect(!RunLoop.current.run(mode: mode, before: .distantFuture))
      RunLoop.current.add(port, forMode: mode)
      receiver.run(until: 2, mode: mode)
      return receiver.texts
    }
    #expect(texts == ["1", "2"])
  }

  @Test func `more messages than the inbox holds wait in the socket, and come`() throws {
    let count = try Self.onThread {
      let port = SocketPort()
      port.queueLimit = 2
      let receiver = Receiver()
      port.setDelegate(receiver)
      RunLoop.current.add(port, forMode: .default)
      let remote = try Self.remote(of: port)
      for _ in 0..<500 {
        #expect(remote.send(before: .distantFuture, components: Self.texts("x"), from: nil, reserved: 0))
      }
      receiver.run(until: 500)
      return receiver.messages.count
    }
    #expect(count == 500)
  }

  @Test func `a receiver that does not read costs the sender its time`() throws {
    let port = SocketPort()
    let remote = try Self.remote(of: port)
    let large = NSMutableArray(array: [Data(count: 15_000_000)])
    let start = SuspendingClock.now
    #expect(!remote.send(before: Date(timeIntervalSinceNow: 0.03), components: large, from: nil, reserved: 0))
    #expect(SuspendingClock.now - start >= .milliseconds(29))
  }

  @Test func `what cannot be sent is refused`() throws {
    let port = SocketPort()
    let remote = try Self.remote(of: port)
    let tooLong = NSMutableArray(array: [Data(count: SocketPort.messageLimit)])
    #expect(!remote.send(before: .distantFuture, components: tooLong, from: nil, reserved: 0))
    let text = NSMutableArray(array: ["text"])
    #expect(!remote.send(before: .distantFuture, components: text, from: nil, reserved: 0))
    port.invalidate()
    let isRefused = succeedsWithoutCopies {
      !remote.send(before: .distantFuture, components: Self.texts("a"), from: nil, reserved: 0)
    }
    #expect(isRefused)
  }

  @Test func `a sender finds its receiver again after it was restarted`() throws {
    try Self.onThread {
      var port = SocketPort()
      let number = try Self.tcpPort(of: port)
      let remote = try Self.remote(of: port)
      for _ in 0..<2 {
        let receiver = Receiver()
        port.setDelegate(receiver)
        RunLoop.current.add(port, forMode: .default)
        // What goes into a connection whose other end only a copy still has is lost.
        let isFound = succeedsWithoutCopies {
          let isSent = remote.send(before: .distantFuture, components: Self.texts("a"), from: nil, reserved: 0)
          RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 1))
          return isSent && receiver.texts.first == "a"
        }
        #expect(isFound)
        RunLoop.current.remove(port, forMode: .default)
        port.invalidate()
        var next: SocketPort?
        #expect(
          succeedsWithoutCopies {
            next = SocketPort(tcpPort: number)
            return next != nil
          })
        port = try #require(next)
      }
    }
  }

  // MARK: - What it is

  @Test func `a port has the numbers and the address it was made with`() throws {
    let port = SocketPort()
    #expect(port.protocolFamily == AF_INET && port.socketType == CInt(SOCK_STREAM.rawValue))
    #expect(port.protocol == CInt(IPPROTO_TCP))
    #expect(try Self.tcpPort(of: port) >= 1024)
    #expect(port.socket >= 0)
    #expect(SocketPort(tcpPort: try Self.tcpPort(of: port)) == nil)
  }

  @Test func `remote ports of one signature are equal, and local ones are not`() throws {
    let (one, other) = (
      SocketPort(remoteWithTCPPort: 10_000, host: "127.0.0.1"), SocketPort(remoteWithTCPPort: 10_000, host: nil)
    )
    #expect(one == other && one?.hash == other?.hash)
    #expect(one != SocketPort(remoteWithTCPPort: 10_001, host: nil))
    #expect(SocketPort() != SocketPort())
    #expect(SocketPort(remoteWithTCPPort: 1, host: "no.such.host.invalid") == nil)
  }

  @Test func `an invalid port closes its socket and says so once`() throws {
    let told = Tally()
    let port = SocketPort()
    let descriptor = port.socket
    let token = NotificationCenter.default.addObserver(
      forName: Port.didBecomeInvalidNotification, object: port, queue: nil
    ) { _ in told.add() }
    defer { NotificationCenter.default.removeObserver(token) }
    port.invalidate()
    port.invalidate()
    #expect(told.count == 1 && !port.isValid && port.socket == -1)
    #expect(descriptor >= 0)
  }

  @Test func `a port on somebody's socket takes messages there`() throws {
    let texts = try Self.onThread {
      let listener = try Socket.listening(at: .loopback())
      let port = try #require(
        SocketPort(
          protocolFamily: AF_INET, socketType: CInt(SOCK_STREAM.rawValue), protocol: CInt(IPPROTO_TCP),
          socket: dup(listener.descriptor)))
      let receiver = Receiver()
      port.setDelegate(receiver)
      RunLoop.current.add(port, forMode: .default)
      #expect(
        try Self.remote(of: port).send(before: .distantFuture, components: Self.texts("a"), from: nil, reserved: 0))
      receiver.run(until: 1)
      return receiver.texts
    }
    #expect(texts == ["a"])
  }

  // MARK: - Foundation's own

  @Test func `Foundation's SocketPort sends to ours`() throws {
    let texts = try Self.onThread {
      let port = SocketPort()
      let receiver = Receiver()
      port.setDelegate(receiver)
      RunLoop.current.add(port, forMode: .default)
      let made = Foundation.SocketPort(remoteWithTCPPort: try Self.tcpPort(of: port), host: "127.0.0.1")
      let theirs = try #require(made)
      for number in 0..<3 {
        #expect(
          theirs.send(
            before: .distantFuture, msgid: number, components: Self.texts("\(number)"), from: nil, reserved: 0))
      }
      receiver.run(until: 3)
      #expect(receiver.messages.map(\.msgid) == [0, 1, 2])
      return receiver.texts
    }
    #expect(texts == ["0", "1", "2"])
  }

  @Test func `ours sends to Foundation's SocketPort`() throws {
    let texts = try Self.onThread {
      let made = Foundation.SocketPort(tcpPort: 0)
      let theirs = try #require(made)
      let receiver = TheirReceiver()
      theirs.setDelegate(receiver)
      Foundation.RunLoop.current.add(theirs, forMode: .default)
      let number = try #require(try SocketAddress(data: theirs.address).port)
      let remote = try #require(SocketPort(remoteWithTCPPort: number, host: "127.0.0.1"))
      // One by one, and not too short: Foundation's loses messages that arrive together, and those of a few bytes.
      let end = Date(timeIntervalSinceNow: 60)
      for number in 0..<3 {
        let components = Self.texts("a message of some length")
        #expect(remote.send(before: .distantFuture, msgid: number, components: components, from: nil, reserved: 0))
        while receiver.texts.count <= number, Date.now < end {
          _ = Foundation.RunLoop.current.run(mode: .default, before: end)
        }
      }
      // Foundation's crashes when a port that is in a run loop is invalidated.
      Foundation.RunLoop.current.remove(theirs, forMode: .default)
      theirs.invalidate()
      return receiver.texts
    }
    #expect(texts == (0..<3).map { "\($0):a message of some length" })
  }

  private final class TheirReceiver: Foundation.PortDelegate {
    private(set) var texts: [String] = []

    func handle(_ message: Foundation.PortMessage) {
      for case let data as NSData in message.components ?? [] {
        texts.append("\(message.msgid):\(String(decoding: Data(referencing: data), as: UTF8.self))")
      }
    }
  }
}
