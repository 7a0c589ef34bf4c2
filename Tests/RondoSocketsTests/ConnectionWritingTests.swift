import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

/// What a connection sends: whole, in order, from files and pieces, over pipes too.
@Suite struct ConnectionWritingTests {
  /// All that comes until the peer ends.
  private func all(_ connection: Connection) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    for try await piece in connection { bytes += piece }
    return bytes
  }

  @Test func `what one write appends arrives as one, however much and however empty`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let pieces = (0..<100).map { [UInt8](repeating: UInt8($0), count: $0 % 7 == 0 ? 0 : $0 * 200) }
      let reading = Task { try await all(far) }
      try await near.write([])
      try await near.write { _ in }
      try await near.write { for piece in [[], []] as [[UInt8]] { $0.append(piece) } }
      try await near.write { for piece in pieces { $0.append(piece) } }
      try await near.finishWriting()
      #expect(try await reading.value == pieces.flatMap(\.self))
    }
  }

  @Test func `a writer takes what a write takes`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let bytes: [UInt8] = [1, 2, 3, 4]
      try await near.write { writer in
        writer.append("ü")
        writer.append(bytes)
        writer.append(bytes[1...2])
        writer.append(unsafe bytes.span.bytes.extracting(3...))
      }
      #expect(try await far.read() == [0xc3, 0xbc, 1, 2, 3, 4, 2, 3, 4])
    }
  }

  @Test func `what one write appends is one system call`() {
    withSimulation { simulation in
      let (server, client) = (simulation.host("10.0.0.1"), simulation.host("10.0.0.2"))
      let address = try! SocketAddress(parsing: "10.0.0.1:7")
      let trace = Trace()
      server.start {
        let listener = try Listener(at: address)
        try await listener.serve(on: server.loop) { connection in
          trace.note("\(try await self.all(connection).count)")
        }
      }
      client.start {
        let connection = try await Connection.connected(to: address, on: client.loop)
        let long = [UInt8](repeating: 1, count: 5_000)
        // Of the calls that send, the second one fails.
        simulation.faults.fail(.send, with: ENOMEM, nth: 2, on: client)
        try await connection.write { writer in
          for _ in 0..<3 {
            writer.append("short")
            writer.append(long)
          }
        }
        await #expect(throws: ConnectionError.socket(.noMemory)) {
          try await connection.write([2])
        }
        try await connection.finishWriting()
      }
      simulation.run(for: .seconds(10))
      #expect(trace.text == "15015")
    }
  }

  @Test(arguments: [(20, [5_020]), (16_384, [16_384, 5_000]), (16_380, [16_384, 4_996])])
  func `over a layer, what one write appends fills records`(_ head: Int, _ lengths: [Int]) async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      var records: Records?
      let layered = try near.covered { carrier, _ throws(ConnectionError) in
        records = Records(over: carrier)
        return records!
      }
      try await layered.write { writer in
        writer.append([UInt8](repeating: 1, count: head))
        writer.append([UInt8](repeating: 2, count: 5_000))
      }
      #expect(records?.lengths == lengths)
      #expect(try await far.read(exactly: head + 5_000)?.count { $0 == 2 } == 5_000)
    }
  }

  @Test func `writes of many tasks arrive whole, one after the other`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let count = 300_000
      let reading = Task {
        var heads: [UInt8] = []
        for _ in 0..<8 {
          let bytes = try await far.read(exactly: count)!
          #expect(bytes.allSatisfy { $0 == bytes[0] })
          heads.append(bytes[0])
        }
        return heads
      }
      try await withThrowingTaskGroup { group in
        for number in 0..<8 as Range<UInt8> {
          group.addTask { try await near.write([UInt8](repeating: number, count: count)) }
        }
        try await group.waitForAll()
      }
      #expect(try await reading.value.sorted() == Array(0..<8))
    }
  }

  @Test func `a cancelled writer leaves the queue, and the next one has its turn`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let first = Task { try await near.write([UInt8](repeating: 1, count: 1_000_000)) }
      // It has the turn, and cannot end.
      #expect(try await far.read(upTo: 1) == [1])
      let second = Task { try await near.write([2]) }
      second.cancel()
      var failure: (any Error)?
      if case .failure(let error) = await second.result { failure = error }
      #expect(failure as? ConnectionError == .wait(.cancelled))
      let third = Task {
        try await near.write([3])
        try await near.finishWriting()
      }
      let rest = try await all(far)
      try await first.value
      try await third.value
      #expect(rest.count { $0 == 2 } == 0)
      #expect(rest.suffix(2) == [1, 3])
    }
  }

  @Test func `after a write that was cut short nothing more is sent`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let writing = Task { try await near.write([UInt8](repeating: 1, count: 10_000_000)) }
      #expect(try await far.read(upTo: 1) == [1])
      writing.cancel()
      await #expect(throws: ConnectionError.wait(.cancelled)) { try await writing.value }
      await #expect(throws: ConnectionError.writeCutShort) { try await near.write([2]) }
      let long = [UInt8](repeating: 2, count: 5_000)
      await #expect(throws: ConnectionError.writeCutShort) {
        try await near.write { for _ in 0..<2 { $0.append(long) } }
      }
      // The other direction goes on.
      try await far.write([4])
      #expect(try await near.read() == [4])
      // The end needs no room.
      try await near.finishWriting()
      while let bytes = try await far.read() { #expect(bytes.allSatisfy { $0 == 1 }) }
    }
  }

  @Test func `a write that was cancelled before its first byte does no harm`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let writing = Task {
        unsafe withUnsafeCurrentTask { unsafe $0!.cancel() }
        try await near.write([1])
      }
      await #expect(throws: ConnectionError.wait(.cancelled)) { try await writing.value }
      try await near.write([2])
      #expect(try await far.read() == [2])
    }
  }

  @Test(arguments: [true, false])
  func `a part of a file is sent as it stands there`(_ isSocket: Bool) async throws {
    try await withLoop { loop in
      let (near, far) = isSocket ? try Connection.pair(on: loop) : try pipe(on: loop)
      let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) }
      let file = makeFile(of: bytes)
      defer { close(file) }
      let reading = Task { try await all(far) }
      #expect(try await near.write(file: file, from: 10, count: 20) == 20)
      #expect(try await near.write(file: file, from: 999_990, count: 20) == 10)
      #expect(try await near.write(file: file, from: 2_000_000) == 0)
      #expect(try await near.write(file: file) == bytes.count)
      try await near.finishWriting()
      #expect(try await reading.value == Array(bytes[10..<30] + bytes[999_990...] + bytes))
    }
  }

  @Test func `a file that cannot be read is told, and the connection goes on`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      await #expect(throws: ConnectionError.socket(.system(.send, errno: EBADF))) { try await near.write(file: -1) }
      try await near.write([1])
      #expect(try await far.read() == [1])
    }
  }

  // MARK: - Pipes

  private func pipe(on loop: Loop) throws -> (Connection, Connection) {
    var ends: [CInt] = [0, 0]
    unsafe #expect(Glibc.pipe(&ends) == 0)
    return (try Connection(writing: ends[1], on: loop), try Connection(reading: ends[0], on: loop))
  }

  @Test func `a pipe carries bytes to its end`() async throws {
    try await withLoop { loop in
      let (writer, reader) = try pipe(on: loop)
      let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      let reading = Task { try await all(reader) }
      try await writer.write(bytes)
      try await writer.write { writer in
        for piece in [bytes, [1], bytes] { writer.append(piece) }
      }
      writer.close()
      #expect(try await reading.value == bytes + bytes + [1] + bytes)
    }
  }

  @Test func `a pipe without a reader is an error, and no signal`() async throws {
    try await withLoop { loop in
      let (writer, reader) = try pipe(on: loop)
      reader.close()
      // A child that another test has forked just now may still have the pipe's end, for a while.
      await #expect(throws: ConnectionError.socket(.reset)) { while true { try await writer.write([1]) } }
      let file = makeFile(of: [1, 2, 3])
      await #expect(throws: ConnectionError.socket(.reset)) { try await writer.write(file: file) }
      close(file)
    }
  }

  @Test func `a socket without a peer is an error for a file as well, and no signal`() async throws {
    try await withLoop { loop in
      var pair: (Connection, Connection)? = try Connection.pair(on: loop)
      let near = pair!.0
      pair = nil
      let file = makeFile(of: [1, 2, 3])
      await #expect(throws: ConnectionError.socket(.reset)) { while true { try await near.write(file: file) } }
      close(file)
    }
  }

  private func makeFile(of bytes: [UInt8]) -> CInt {
    let file = unsafe dup(fileno(tmpfile()))
    _ = unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
    return file
  }

  @Test func `the direction that a pipe does not have is refused`() async throws {
    try await withLoop { loop in
      let (writer, reader) = try pipe(on: loop)
      await #expect(throws: ConnectionError.socket(.system(.receive, errno: EBADF))) { try await writer.read() }
      await #expect(throws: ConnectionError.socket(.system(.send, errno: EBADF))) { try await reader.write([1]) }
    }
  }

  @Test func `a regular file is no connection, and stays its owner's`() async throws {
    try await withLoop { loop in
      let file = makeFile(of: [])
      #expect(throws: ConnectionError.self) { try Connection(reading: file, on: loop) }
      #expect(close(file) == 0)
    }
  }
}

/// A layer that changes nothing, and knows how long its records were.
final class Records: TransportLayer, @unchecked Sendable {
  private let carrier: Transport
  private(set) var lengths: [Int] = []

  init(over carrier: Transport) {
    self.carrier = carrier
  }

  func receive(limit: Int, into inbox: inout [UInt8]) throws(ConnectionError) -> Transfer {
    try carrier.receive(limit: limit, into: &inbox)
  }

  func send(_ bytes: RawSpan) throws(ConnectionError) -> Transfer {
    let record = bytes.extracting(first: 16_384)
    lengths.append(record.byteCount)
    return try carrier.send(record)
  }

  func sendUncounted() throws(ConnectionError) -> Transfer? { nil }
  var hasUncounted: Bool { false }
  func finish() throws(ConnectionError) -> Bool { true }
  func close() { carrier.close() }
}
