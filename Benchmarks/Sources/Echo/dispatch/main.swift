import CEcho
import Dispatch
import Glibc

/// One queue for all, as the others have one loop. In a type, for what stands in main.swift by itself is the main actor's.
enum Server {
  static let queue = DispatchQueue(label: "echo")
  nonisolated(unsafe) static let room = UnsafeMutableRawPointer.allocate(byteCount: Int(echo_room), alignment: 16)

  static func listen() -> any DispatchSourceRead {
    let listener = DispatchSource.makeReadSource(fileDescriptor: CInt(echo_listener), queue: queue)
    listener.setEventHandler {
      let connection = echo_accept()
      if connection >= 0 { serve(connection) }
    }
    listener.activate()
    return listener
  }

  private static func serve(_ connection: CInt) {
    let source = DispatchSource.makeReadSource(fileDescriptor: connection, queue: queue)
    source.setEventHandler { if echo_serve(connection, room) == 0 { source.cancel() } }
    source.setCancelHandler { close(connection) }
    source.activate()
  }
}

let listener = Server.listen()
dispatchMain()
