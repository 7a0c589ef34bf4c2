internal import Rondo

extension Socket {
  /// What tasks know of the socket's readiness in a loop. Any thread.
  func record(on loop: Loop, in mode: Loop.Mode) -> ReadinessRecord {
    readiness.withLock { records in
      if let known = records.first(where: { $0.loop === loop && $0.mode == mode }) { return known }
      let made = ReadinessRecord(descriptor, on: loop, in: mode)
      records.append(made)
      return made
    }
  }

  /// Has the loop watch the socket for tasks until the lease is let go. Any thread.
  func lease(on loop: Loop, in mode: Loop.Mode) throws(StreamError) -> ReadinessLease {
    do { return try record(on: loop, in: mode).lease() } catch { throw .wait(.descriptor(error)) }
  }
}

/// What a call to a socket gave, or why it gave nothing, as async code is told.
func asking<Answer>(_ call: () throws(SocketError) -> Answer) throws(Socket.StreamError) -> Answer {
  do {
    return try call()
  } catch {
    throw .socket(error)
  }
}
