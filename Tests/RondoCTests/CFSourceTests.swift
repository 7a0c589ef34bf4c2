import CLinux
import Glibc
import Rondo
import RondoCoreFoundation
import Testing

/// Sources of version 1, and sets of modes that are full.
@Suite struct CFSourceTests {
  /// What a source's context points to.
  private final class Port {
    let descriptor: CInt
    var performs = 0

    init(_ descriptor: CInt) { self.descriptor = descriptor }
  }

  private func source(_ port: Port, version: Int = 1) -> CFRunLoopSource? {
    var context = unsafe CFRunLoopSourceContext1()
    unsafe context.version = version
    unsafe context.info = Unmanaged.passUnretained(port).toOpaque()
    unsafe context.getPort = { unsafe Unmanaged<Port>.fromOpaque($0!).takeUnretainedValue().descriptor }
    unsafe context.perform = { unsafe Unmanaged<Port>.fromOpaque($0!).takeUnretainedValue().performs += 1 }
    return unsafe withUnsafeMutablePointer(to: &context) { context in
      unsafe CFRunLoopSourceCreate(
        nil, 0, UnsafeMutableRawPointer(context).assumingMemoryBound(to: CFRunLoopSourceContext.self))
    }
  }

  private func mode(_ name: String) -> CFRunLoopMode? {
    unsafe CFStringCreateWithCString(nil, name, CFStringBuiltInEncodings.UTF8.rawValue)
  }

  @Test func `a source of version 1 performs in each loop that it is in`() throws {
    let port = Port(rondo_eventfd())
    defer { close(port.descriptor) }
    let source = source(port)
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, CFRunLoopMode.defaultMode)
    let thread = try LoopThread()
    try thread.sync { CFRunLoopAddSource(CFRunLoopGetCurrent(), source, mode("x")) }
    #expect(CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, CFRunLoopMode.defaultMode))
    #expect(!CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, mode("x")))
    rondo_eventfd_signal(port.descriptor)
    #expect(CFRunLoopRunInMode(CFRunLoopMode.defaultMode, 60, true) == .handledSource)
    rondo_eventfd_signal(port.descriptor)
    let other = try thread.sync { CFRunLoopRunInMode(mode("x"), 60, true) }
    #expect(other == .handledSource)
    #expect(port.performs == 2)
    CFRunLoopSourceInvalidate(source)
    let stays = try thread.sync { CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, mode("x")) }
    #expect(!stays)
    thread.stop()
  }

  @Test func `a context of another version makes no source, and a regular file joins no loop`() {
    #expect(source(Port(0), version: 2) == nil)
    let file = Port(unsafe open("/proc/self/exe", O_RDONLY))
    defer { close(file.descriptor) }
    let source = source(file)
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, CFRunLoopMode.defaultMode)
    #expect(!CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, CFRunLoopMode.defaultMode))
    #expect(CFRunLoopSourceIsValid(source))
    CFRunLoopSourceInvalidate(source)
  }

  @Test func `the bytes of a pipe are left to the function that performs`() {
    var ends: [CInt] = [0, 0]
    #expect(unsafe pipe(&ends) == 0)
    let port = Port(ends[0])
    let source = source(port)
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, CFRunLoopMode.defaultMode)
    #expect(unsafe write(ends[1], "0123456789", 10) == 10)
    // It is told again as long as it is readable.
    for _ in 0..<2 { #expect(CFRunLoopRunInMode(CFRunLoopMode.defaultMode, 60, true) == .handledSource) }
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(unsafe read(ends[0], &bytes, bytes.count) == 10)
    #expect(port.performs == 2)
    CFRunLoopSourceInvalidate(source)
    for end in ends { close(end) }
  }
}
