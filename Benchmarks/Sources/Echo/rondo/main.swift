import CEcho
import Rondo

nonisolated(unsafe) let room = UnsafeMutableRawPointer.allocate(byteCount: Int(echo_room), alignment: 16)

let loop = Loop.main
loop.add(
  try Loop.DescriptorSource(CInt(echo_listener), for: .read) { _, _ in
    let connection = echo_accept()
    guard connection >= 0 else { return }
    let source = try? Loop.DescriptorSource(connection, for: .read, closesOnInvalidation: true) { source, _ in
      if echo_serve(source.descriptor, room) == 0 { source.invalidate() }
    }
    if let source { loop.add(source) }
  })
loop.run()
