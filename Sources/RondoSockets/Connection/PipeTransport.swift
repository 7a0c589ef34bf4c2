internal import Glibc
internal import Rondo
internal import Synchronization

/// One or two descriptors that are no sockets as a transport: pipes, or a terminal.
final class PipeTransport: Transport, @unchecked Sendable {
  // Unchecked, as every transport.

  /// A descriptor that is closed with the last reference.
  private final class End: Sendable {
    let descriptor: CInt
    /// *constant* Whether calls of others that share the file block, in file status flags; nil if they do not.
    private let blockingFlags: CInt?
    /// *atomic* Whether it is closed at the end.
    let isOwned = Atomic(false)

    init(_ descriptor: CInt) {
      self.descriptor = descriptor
      let flags = fcntl(descriptor, F_GETFL)
      blockingFlags = flags >= 0 && flags & O_NONBLOCK == 0 ? flags : nil
    }

    deinit {
      // The flag is the file's: a shell, or a process before this one in a pipeline, would have to live with it.
      if let blockingFlags { _ = fcntl(descriptor, F_SETFL, blockingFlags) }
      if isOwned.load(ordering: .relaxed) { _ = Glibc.close(descriptor) }
    }
  }

  /// *its lock* Nil where there is none, or none any more.
  private let ends: Guarded<(input: End?, output: End?)>

  @available(*, unavailable)
  override init(input: ReadinessLease?, output: ReadinessLease?) {
    fatalError("The other initializer makes the leases.")
  }

  /// Takes ownership of the descriptors, unless it throws.
  init(reading input: CInt?, writing output: CInt?, on loop: Loop, in mode: Loop.Mode) throws(ConnectionError) {
    let (inputEnd, outputEnd) = (input.map(End.init), output.map(End.init))
    func lease(_ end: End?) throws(ConnectionError) -> ReadinessLease? {
      guard let end else { return nil }
      return try ReadinessLease(of: end.descriptor, of: end, on: loop, in: mode)
    }
    let (inputLease, outputLease) = (try lease(inputEnd), try lease(outputEnd))
    // Not before: what the loop refuses stays as it is.
    for end in [inputEnd, outputEnd].compactMap(\.self) {
      try asking { () throws(SocketError) in try StreamCalls.prepare(end.descriptor) }
    }
    for end in [inputEnd, outputEnd] { end?.isOwned.store(true, ordering: .relaxed) }
    ends = Guarded((inputEnd, outputEnd))
    super.init(input: inputLease, output: outputLease)
    // Last: what throws leaves no descriptor of the caller's in the loop.
    inputLease?.begin()
    outputLease?.begin()
  }

  private func input() throws(ConnectionError) -> End {
    if let end = ends.withLock({ $0.input }) { return end }
    throw .closed
  }

  private func output() throws(ConnectionError) -> End {
    if let end = ends.withLock({ $0.output }) { return end }
    throw .closed
  }

  override package func receive(limit: Int, into inbox: inout [UInt8]) throws(ConnectionError) -> Transfer {
    let end = try input()
    return try asking { () throws(SocketError) in
      try StreamCalls.receive(from: end.descriptor, atMost: limit, into: &inbox, isSocket: false)
    }
  }

  override package func send(_ bytes: RawSpan) throws(ConnectionError) -> Transfer {
    let end = try output()
    return try asking { () throws(SocketError) in try StreamCalls.write(bytes, to: end.descriptor) }
  }

  override func finish() -> Bool {
    output?.record.release()
    // The loop lets go of the end, too, and then it is closed.
    _ = ends.withLock { $0.output.take() }
    return true
  }

  override package func close() {
    _ = finish()
    input?.record.release()
    _ = ends.withLock { $0.input.take() }
  }
}
