import Glibc
import RondoTestSupport

/// A descriptor for sources in virtual time, which never ask the kernel.
enum UnconnectedSocket {
  static let shared: CInt = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
}

// Everything is closed on exec: a process started by another test would otherwise hold it open.

/// A pipe that neither end blocks on. What is open of it is closed with it.
final class TestPipe: @unchecked Sendable {
  let reader: CInt
  let writer: CInt
  private var opens: Set<CInt>

  init() {
    var ends: [CInt] = [0, 0]
    let error = unsafe openPipe(&ends, O_CLOEXEC | O_NONBLOCK)
    precondition(error == 0, "No pipe could be made: errno \(errno).")
    (reader, writer) = (ends[0], ends[1])
    opens = [reader, writer]
  }

  deinit {
    for end in opens { close(end) }
  }

  /// Closes the reader, and waits until the writer knows.
  func closeReader() {
    closeEnd(reader)
    waitForOtherEnd(of: writer)
  }

  /// Closes the writer, and waits until the reader knows, unless a duplicate lives on.
  func closeWriter(isDuplicated: Bool = false) {
    closeEnd(writer)
    if !isDuplicated { waitForOtherEnd(of: reader) }
  }

  private func closeEnd(_ end: CInt) {
    guard opens.remove(end) != nil else { return }
    close(end)
  }

  /// Closes the reader behind everybody's back; its number stands for `other` afterwards, or nothing.
  ///
  /// Other tests open descriptors meanwhile, so "nothing" is a socket that is never ready.
  func replaceReader(with other: CInt?) {
    let replacement = other ?? socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    precondition(dup2(replacement, reader) == reader)
    if other == nil { close(replacement) }
  }

  /// Writes that many bytes.
  func write(_ count: Int) {
    let bytes = [UInt8](repeating: 0, count: count)
    let written = unsafe Glibc.write(writer, bytes, count)
    precondition(written == count)
  }

  /// Reads all there is.
  ///
  /// - Returns: How many bytes it was.
  @discardableResult
  func drain() -> Int {
    drainDescriptor(reader)
  }

  /// Whether every writer has gone.
  var isAtEnd: Bool {
    var byte: UInt8 = 0
    return unsafe read(reader, &byte, 1) == 0
  }

  /// Waits for the last writer to go, up to a minute.
  func waitForEnd() -> Bool {
    waitForOtherEnd(of: reader)
    return isAtEnd
  }
}

/// Two connected sockets.
final class TestSockets: @unchecked Sendable {
  let near: CInt
  let far: CInt
  private var isFarOpen = true

  init() {
    var ends: [CInt] = [0, 0]
    let error = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0, &ends)
    precondition(error == 0, "No sockets could be made: errno \(errno).")
    (near, far) = (ends[0], ends[1])
  }

  deinit {
    close(near)
    if isFarOpen { close(far) }
  }

  /// Closes the far end, and waits until the near one knows.
  func closeFar() {
    guard isFarOpen else { return }
    isFarOpen = false
    close(far)
    waitForOtherEnd(of: near)
  }

  /// Sends a byte from far to near.
  func send() {
    let byte: [UInt8] = [0]
    let written = unsafe write(far, byte, 1)
    precondition(written == 1)
  }
}

/// Reads all there is in a descriptor that does not block.
@discardableResult
func drainDescriptor(_ descriptor: CInt) -> Int {
  var bytes = [UInt8](repeating: 0, count: 4096)
  var total = 0
  while true {
    let count = unsafe read(descriptor, &bytes, bytes.count)
    if count <= 0 { return total }
    total += count
  }
}

/// Swift's Glibc module lacks pipe2(2), a GNU extension.
@_silgen_name("pipe2") private func openPipe(_ ends: UnsafeMutablePointer<CInt>, _ flags: CInt) -> CInt

/// Swift's Glibc module lacks <sys/eventfd.h>.
@_silgen_name("eventfd") private func eventfd(_ initial: CUnsignedInt, _ flags: CInt) -> CInt

/// An eventfd that does not block.
func makeEventDescriptor() -> CInt {
  let descriptor = eventfd(0, O_NONBLOCK | O_CLOEXEC)
  precondition(descriptor >= 0, "No eventfd could be made: errno \(errno).")
  return descriptor
}

func signalEventDescriptor(_ descriptor: CInt) {
  let one: [UInt64] = [1]
  let written = unsafe write(descriptor, one, 8)
  precondition(written == 8)
}

/// Another number for the same file, closed on exec as well.
func duplicate(_ descriptor: CInt) -> CInt {
  fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
}
