import CLinux
import Glibc
import RondoSockets
import Testing

/// Options by name, as the kernel has them afterwards.
@Suite struct SocketOptionTests {
  private let tcp = CInt(IPPROTO_TCP)

  @Test func `each option is the kernel's`() throws {
    let socket = try Socket(family: AF_INET, .stream)
    for option: Socket.Option in [
      .reusePort, .noDelay, .keepAlive(after: .milliseconds(1500), every: .seconds(3), probes: 4),
      .userTimeout(.microseconds(2500)), .fastOpenConnect, .receiveBuffer(bytes: 20_000), .sendBuffer(bytes: 30_000),
    ] {
      try socket.set(option)
    }
    #expect(try socket.option(SOL_SOCKET, SO_REUSEPORT) == 1)
    #expect(try socket.option(tcp, TCP_NODELAY) == 1)
    #expect(try socket.option(SOL_SOCKET, SO_KEEPALIVE) == 1)
    // Rounded up: nothing is asked before its time.
    #expect(try socket.option(tcp, TCP_KEEPIDLE) == 2)
    #expect(try socket.option(tcp, TCP_KEEPINTVL) == 3)
    #expect(try socket.option(tcp, TCP_KEEPCNT) == 4)
    #expect(try socket.option(tcp, TCP_USER_TIMEOUT) == 3)
    #expect(try socket.option(tcp, TCP_FASTOPEN_CONNECT) == 1)
    #expect(try socket.option(SOL_SOCKET, SO_RCVBUF) == 40_000)
    #expect(try socket.option(SOL_SOCKET, SO_SNDBUF) == 60_000)
  }

  @Test func `a time that has passed is no wait without a limit`() {
    let times: [Duration] = [.milliseconds(-1), .nanoseconds(-1), .zero, .nanoseconds(1), .seconds(-1 << 40)]
    #expect(times.map(\.pollMilliseconds) == [0, 0, 0, 1, 0])
  }

  @Test func `a descriptor that is taken over does not block, and is closed on exec`() throws {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    #expect(fcntl(descriptor, F_GETFD) == 0 && fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0)
    let socket = try Socket(owning: descriptor)
    #expect(fcntl(socket.descriptor, F_GETFD) == FD_CLOEXEC)
    #expect(fcntl(socket.descriptor, F_GETFL) & O_NONBLOCK != 0)
  }

  @Test func `what a listener accepts has its options`() throws {
    let listener = try Socket.listening(at: .loopback(), options: [.noDelay, .fastOpen(queue: 16)])
    let client = try Socket(family: AF_INET, .stream)
    _ = try client.connect(to: listener.localAddress!)
    var accepted: Socket?
    while accepted == nil { accepted = try listener.accept()?.socket }
    #expect(try accepted!.option(tcp, TCP_NODELAY) == 1)
    #expect(try listener.option(tcp, TCP_FASTOPEN) == 16)
  }

  @Test func `listeners that share a port are all bound to it`() throws {
    let first = try Socket.listening(at: .loopback(), options: [.reusePort])
    let second = try Socket.listening(at: first.localAddress!, options: [.reusePort])
    #expect(first.localAddress == second.localAddress)
    #expect(throws: SocketError.addressInUse(first.localAddress)) { _ = try Socket.listening(at: first.localAddress!) }
  }

  @Test func `an option that a socket does not have is an error that says so`() throws {
    let socket = try Socket(family: AF_UNIX, .stream)
    #expect(throws: SocketError.system(.option, errno: EOPNOTSUPP)) { try socket.set(.noDelay) }
    let internet = try Socket(family: AF_INET, .stream)
    #expect(throws: SocketError.self) { try internet.set(.onlyIPv6) }
    #expect(throws: SocketError.self) {
      try internet.set(.keepAlive(after: .zero, every: .seconds(-1), probes: Int.max))
    }
  }
}
