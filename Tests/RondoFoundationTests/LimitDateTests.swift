import Glibc
import Rondo
import RondoFoundation
import RondoSockets
import RondoTestSupport
import Testing

/// Limits that never come, as users write them, and peers that try to outlast one that does.
@Suite(.offThePool) struct LimitDateTests {
  static let endless: [TimeInterval] = [.infinity, .greatestFiniteMagnitude]
  static let dates = [Date.distantFuture] + endless.map { Date(timeIntervalSinceReferenceDate: $0) }

  @Test(arguments: endless) func `a socket port without a limit of time takes messages piece by piece`(
    _ limit: TimeInterval
  ) throws {
    let thread = try LoopThread()
    let answer = try thread.sync { () -> String in
      let port = SocketPort()
      port.limits.idleLimit = limit
      port.limits.messageTimeout = limit
      port.limits.connectionLimit = 1
      RunLoop.current.add(port, forMode: .default)
      let socket = try Socket(family: AF_INET, .stream)
      _ = try socket.connect(to: .loopback(port: try #require(try SocketAddress(data: port.address).port)))
      // The beginning of a frame: the port looks for senders that stand still.
      _ = try socket.send([0xd0, 0xcf])
      let end = Date(timeIntervalSinceNow: 60)
      while port.heldByteCount == 0, Date.now < end { RunLoop.current.run(mode: .default, before: end) }
      // One sender too many: it looks for a quiet one.
      let other = try Socket(family: AF_INET, .stream)
      _ = try other.connect(to: .loopback(port: try #require(try SocketAddress(data: port.address).port)))
      var isClosed = false
      while !isClosed, Date.now < end {
        RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
        isClosed =
          switch Result(catching: { try other.receive() }) {
          case .success(.nothing): false
          default: true
          }
      }
      let count = port.connectionCount
      port.invalidate()
      return "\(count) connection, the other one closed: \(isClosed)"
    }
    thread.stop()
    #expect(answer == "1 connection, the other one closed: true")
  }

  @Test(arguments: dates) func `a sender waits for room until a date that never comes`(_ date: Date) {
    let port = Port()
    port.queueLimit = 1
    let isSent = port.send(before: date, components: nil, from: nil, reserved: 0)
    let isWaiting = DispatchSemaphore(value: 0)
    Thread {
      isWaiting.wait()
      Thread.sleep(forTimeInterval: 0.02)
      port.queueLimit = 2
    }.start()
    isWaiting.signal()
    let isSentLater = port.send(before: date, components: nil, from: nil, reserved: 0)
    #expect(isSent && isSentLater)
  }

  @Test(arguments: dates) func `two threads send to one socket port, and wait for each other that long`(
    _ date: Date
  ) throws {
    let address = try SocketAddress.abstract("rondo-limit-\(getpid())-\(UUID())")
    let listener = try Socket.listening(at: address)
    let remote = Self.port(to: address)
    // More than the kernel takes of one that nobody reads: the first holds the way until that is read.
    let long = Data(count: 1 << 20)
    let sent = Notes()
    let threads = (0..<2).map { _ in
      Thread {
        let isSent = remote.send(before: date, components: Self.components(long), from: nil, reserved: 0)
        sent.note("\(isSent)")
      }
    }
    for thread in threads { thread.start() }
    var accepted: Socket?
    while accepted == nil { accepted = try listener.accept()?.socket }
    Thread.sleep(forTimeInterval: 0.02)
    while sent.count < 2 { _ = try accepted?.receive() }
    #expect(sent.text == "true true")
  }

  @Test(arguments: [(10, true), (100, false)])
  func `a peer that does not stop sending counts as gone, and the next message finds another way`(
    _ pieces: Int, isReused: Bool
  ) throws {
    let address = try SocketAddress.abstract("rondo-flood-\(getpid())-\(UUID())")
    let listener = try Socket.listening(at: address)
    let remote = Self.port(to: address)
    let limit = Date(timeIntervalSinceNow: 60)
    let isSent = remote.send(before: limit, components: Self.components(Data("first".utf8)), from: nil, reserved: 0)
    let (first, _) = try #require(try listener.accept())
    for _ in 0..<pieces { Self.sendPiece(to: first.descriptor) }
    let isSentAgain = remote.send(before: limit, components: Self.components(Data("next".utf8)), from: nil, reserved: 0)
    let second = try listener.accept()
    #expect(isSent && isSentAgain)
    #expect((second == nil) == isReused)
  }

  @Test func `a timer whose date is no number fires no sooner than one for ever ahead`() {
    withFoundationStage { stage in
      let timer = Timer(fire: Date(timeIntervalSinceReferenceDate: .nan), interval: 0, repeats: false) { _ in
        stage.note("timer")
      }
      RunLoop.current.add(timer, forMode: .default)
      RunLoop.current.run(until: Date(timeIntervalSinceNow: 1_000_000))
      timer.invalidate()
      #expect(stage.text == "")
    }
  }

  private static func port(to address: SocketAddress) -> SocketPort {
    SocketPort(
      remoteWithProtocolFamily: AF_UNIX, socketType: CInt(SOCK_STREAM.rawValue), protocol: 0,
      address: Data(address.socketBytes))
  }

  private static func components(_ data: Data) -> NSMutableArray { NSMutableArray(array: [data as NSData]) }

  /// Sends a byte with a descriptor: the peer receives it alone, whatever comes after it.
  private static func sendPiece(to socket: CInt) {
    var control: (length: Int, level: CInt, type: CInt, descriptor: CInt) = (20, SOL_SOCKET, 1, socket)
    var byte: UInt8 = 1
    unsafe withUnsafeMutableBytes(of: &control) { control in
      unsafe withUnsafeMutableBytes(of: &byte) { byte in
        var part = unsafe iovec(iov_base: byte.baseAddress, iov_len: 1)
        unsafe withUnsafeMutablePointer(to: &part) { part in
          var message = unsafe msghdr()
          unsafe message.msg_iov = part
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = 24
          _ = unsafe sendmsg(socket, &message, 0)
        }
      }
    }
  }
}
