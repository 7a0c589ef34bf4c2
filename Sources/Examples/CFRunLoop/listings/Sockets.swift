import Glibc

#if RONDO
  import RondoCoreFoundation
#else
  import CoreFoundation
#endif

// MARK: - A socket's run-loop source

private func makePair() -> (CInt, CInt) {
  var pair: [CInt] = [0, 0]
  socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair)
  return (pair[0], pair[1])
}

/// Runs until a source was handled, however long a busy machine takes.
private func runOnce() { run(60, true) }

func sockets() {
  onThread { readSocket() }
  log.section("a socket that reads")
  onThread { dataSocket() }
  log.section("a socket of data")
  onThread { writeSocket() }
  log.section("a socket with room to write")
}

private func source(of socket: CFSocket) -> CFRunLoopSource {
  let source = CFSocketCreateRunLoopSource(nil, socket, 0)!
  CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode)
  return source
}

private func readSocket() {
  let (near, far) = makePair()
  let socket = CFSocketCreateWithNative(
    nil, near, CFSocketCallBackType.readCallBack.rawValue,
    { socket, type, _, _, _ in
      var byte: UInt8 = 0
      let count = recv(CFSocketGetNative(socket), &byte, 1, 0)
      note("type \(type.rawValue) read \(count) \(byte)")
    }, nil)!
  note("native \(CFSocketGetNative(socket) == near) valid \(CFSocketIsValid(socket))")
  note("flags \(CFSocketGetSocketFlags(socket))")
  let source = source(of: socket)
  note("contained \(CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode))")
  write(far, [1, 2], 2)
  runOnce()
  runOnce()
  CFSocketDisableCallBacks(socket, CFSocketCallBackType.readCallBack.rawValue)
  write(far, [3], 1)
  run(0.02, true)
  CFSocketEnableCallBacks(socket, CFSocketCallBackType.readCallBack.rawValue)
  runOnce()
  CFSocketInvalidate(socket)
  note("valid \(CFSocketIsValid(socket)) source \(CFRunLoopSourceIsValid(source))")
  close(far)
}

private func dataSocket() {
  let (near, far) = makePair()
  let info = Counted("socket")
  func use() {
    var context = CFSocketContext()
    context.info = info.pointer
    context.retain = {
      Counted.of($0).retained()
      return $0
    }
    context.release = { Counted.of($0).released() }
    let socket = CFSocketCreateWithNative(
      nil, near, CFSocketCallBackType.dataCallBack.rawValue,
      { _, type, _, data, info in
        let data = Unmanaged<CFData>.fromOpaque(data!).takeUnretainedValue()
        note("type \(type.rawValue) bytes \(CFDataGetLength(data)) \(Counted.of(info).name)")
      }, &context)!
    let source = source(of: socket)
    write(far, [1, 2, 3], 3)
    runOnce()
    close(far)
    runOnce()
    run(0.02, true)
    CFRunLoopRemoveSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode)
    CFSocketInvalidate(socket)
  }
  use()
  note("left \(info.count)")
}

private func writeSocket() {
  let (near, far) = makePair()
  let socket = CFSocketCreateWithNative(
    nil, near, CFSocketCallBackType.writeCallBack.rawValue, { _, type, _, _, _ in note("type \(type.rawValue)") }, nil)!
  let source = source(of: socket)
  runOnce()
  // Room to write is told once.
  run(0.02, true)
  CFSocketEnableCallBacks(socket, CFSocketCallBackType.writeCallBack.rawValue)
  runOnce()
  CFSocketInvalidate(socket)
  note("source \(CFRunLoopSourceIsValid(source))")
  close(far)
}
