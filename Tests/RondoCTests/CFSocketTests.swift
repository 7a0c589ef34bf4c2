import Glibc
import RondoCoreFoundation
import Testing

/// What strangers can do to a CFSocket.
@Suite struct CFSocketTests {
  /// What came, for a callout without a context.
  private final class Seen {
    var lengths: [Int] = []
    var accepted: CInt = -1
  }

  /// A datagram socket on the loopback interface, and the address of another one, or of none.
  private func datagramSocket() -> (descriptor: CInt, address: sockaddr_in) {
    let descriptor = Glibc.socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
    return (descriptor, bound(descriptor))
  }

  /// Binds to a port of the kernel's choice.
  private func bound(_ descriptor: CInt) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    #expect(unsafe call(Glibc.bind, descriptor, address) == 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    unsafe withUnsafeMutablePointer(to: &address) { address in
      let plain = unsafe UnsafeMutableRawPointer(address).assumingMemoryBound(to: sockaddr.self)
      #expect(unsafe getsockname(descriptor, plain, &length) == 0)
    }
    return address
  }

  private func call(
    _ function: (CInt, UnsafePointer<sockaddr>?, socklen_t) -> CInt, _ descriptor: CInt, _ address: sockaddr_in
  ) -> CInt {
    unsafe withUnsafePointer(to: address) { address in
      let plain = unsafe UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr.self)
      return unsafe function(descriptor, plain, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }

  private func connect(_ descriptor: CInt, to address: sockaddr_in) {
    #expect(unsafe call(Glibc.connect, descriptor, address) == 0)
  }

  private func socket(
    _ descriptor: CInt, _ type: CFSocketCallBackType, _ seen: Seen, _ body: @escaping CFSocketCallBack
  ) -> CFSocket? {
    var context = unsafe CFSocketContext()
    unsafe context.info = Unmanaged.passUnretained(seen).toOpaque()
    let socket = unsafe CFSocketCreateWithNative(nil, descriptor, type.rawValue, body, &context)
    let source = CFSocketCreateRunLoopSource(nil, socket, 0)
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, CFRunLoopMode.defaultMode)
    return socket
  }

  private func runOnce() {
    #expect(CFRunLoopRunInMode(CFRunLoopMode.defaultMode, 60, true) == .handledSource)
  }

  @Test(arguments: [CFSocketCallBackType.readCallBack, .dataCallBack])
  func `an empty datagram from a stranger does not end a socket`(_ type: CFSocketCallBackType) {
    let (near, address) = datagramSocket()
    let (far, _) = datagramSocket()
    defer { close(far) }
    connect(far, to: address)
    let seen = Seen()
    let socket = unsafe socket(near, type, seen) { socket, type, _, data, info in
      let seen = unsafe Unmanaged<Seen>.fromOpaque(info!).takeUnretainedValue()
      if type == .readCallBack {
        var bytes = [UInt8](repeating: 0, count: 16)
        seen.lengths.append(unsafe recv(CFSocketGetNative(socket), &bytes, bytes.count, 0))
      } else {
        seen.lengths.append(unsafe CFDataGetLength(Unmanaged<CFData>.fromOpaque(data!).takeUnretainedValue()))
      }
    }
    defer { CFSocketInvalidate(socket) }
    for length in [3, 0, 5] {
      let bytes = [UInt8](repeating: 7, count: length)
      #expect(unsafe send(far, bytes, length, 0) == length)
      runOnce()
    }
    #expect(seen.lengths == [3, 0, 5])
    #expect(CFSocketIsValid(socket))
  }

  @Test func `an error that a datagram met does not end a socket of data`() {
    let (near, address) = datagramSocket()
    let (far, farAddress) = datagramSocket()
    connect(near, to: farAddress)
    let seen = Seen()
    let socket = unsafe socket(near, .dataCallBack, seen) { _, _, _, data, info in
      let seen = unsafe Unmanaged<Seen>.fromOpaque(info!).takeUnretainedValue()
      seen.lengths.append(unsafe CFDataGetLength(Unmanaged<CFData>.fromOpaque(data!).takeUnretainedValue()))
    }
    defer { CFSocketInvalidate(socket) }
    // Nobody is there: the kernel keeps ECONNREFUSED for the next call.
    close(far)
    #expect(unsafe send(near, [1] as [UInt8], 1, 0) == 1)
    runOnce()
    #expect(CFSocketIsValid(socket) && seen.lengths.isEmpty)
    let again = Glibc.socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
    defer { close(again) }
    #expect(unsafe call(Glibc.bind, again, farAddress) == 0)
    connect(again, to: address)
    #expect(unsafe send(again, [1, 2] as [UInt8], 2, 0) == 2)
    runOnce()
    #expect(seen.lengths == [2])
  }

  @Test func `what a listener accepts is closed on exec, and the listener never blocks`() {
    let listener = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    let address = bound(listener)
    #expect(listen(listener, 8) == 0)
    let client = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(client) }
    connect(client, to: address)
    let seen = Seen()
    let socket = unsafe socket(listener, .acceptCallBack, seen) { _, _, _, data, info in
      let seen = unsafe Unmanaged<Seen>.fromOpaque(info!).takeUnretainedValue()
      seen.accepted = unsafe data!.load(as: CInt.self)
    }
    defer { CFSocketInvalidate(socket) }
    runOnce()
    #expect(fcntl(seen.accepted, F_GETFD) == FD_CLOEXEC)
    #expect(fcntl(listener, F_GETFL) & O_NONBLOCK != 0)
    close(seen.accepted)
  }
}
