import Glibc
import Rondo
import RondoSockets
import Testing

/// How what arrives on a connection is cut: into pieces, into so many bytes, into lines.
@Suite struct ConnectionReadingTests {
  /// A connection on which exactly these bytes arrive.
  private func connection(
    on loop: Loop, receiving bytes: [UInt8], isEnded: Bool = true
  ) async throws -> (Connection, far: Connection) {
    let (near, far) = try Connection.pair(on: loop)
    try await far.write(bytes)
    if isEnded { try await far.finishWriting() }
    return (near, far)
  }

  @Test func `a piece is no longer than it may be`() async throws {
    try await withLoop { loop in
      let (near, _) = try await connection(on: loop, receiving: [1, 2, 3, 4, 5])
      let pieces = try await [near.read(upTo: 2), near.read(upTo: 2), near.read(upTo: 2), near.read(upTo: 2)]
      #expect(pieces == [[1, 2], [3, 4], [5], nil])
      #expect(try await near.read() == nil)
    }
  }

  @Test func `so many bytes are read across the pieces they came in`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      let reading = Task { try await [near.read(exactly: 5), near.read(exactly: 0), near.read(exactly: 2)] }
      for byte in [1, 2, 3, 4, 5, 6, 7] as [UInt8] {
        try await far.write([byte])
        await Task.yield()
      }
      #expect(try await reading.value == [[1, 2, 3, 4, 5], [], [6, 7]])
    }
  }

  @Test func `an end within so many bytes is told with their number, and they can be read`() async throws {
    try await withLoop { loop in
      let (near, _) = try await connection(on: loop, receiving: [1, 2, 3])
      await #expect(throws: ConnectionError.endedEarly(received: 3, expected: 4)) { try await near.read(exactly: 4) }
      #expect(try await near.read() == [1, 2, 3])
      #expect(try await near.read(exactly: 4) == nil)
      #expect(try await near.read(exactly: 0) == [])
    }
  }

  @Test func `a length that a peer made up takes no memory before the bytes come`() async throws {
    try await withLoop { loop in
      let (near, _) = try await connection(on: loop, receiving: [1])
      await #expect(throws: ConnectionError.endedEarly(received: 1, expected: .max)) {
        try await near.read(exactly: .max)
      }
    }
  }

  @Test func `lines come without their ends, empty ones and an unended last one too`() async throws {
    try await withLoop { loop in
      let (near, _) = try await connection(on: loop, receiving: Array("one\r\n\ntwo\rthree\nlast".utf8))
      var lines: [String] = []
      for try await line in near.lines() { lines.append(line) }
      #expect(lines == ["one", "", "two\rthree", "last"])
    }
  }

  @Test func `a line that ends with the bytes it may have is read, and a longer one is refused`() async throws {
    try await withLoop { loop in
      let (near, _) = try await connection(on: loop, receiving: Array("1234\n12345\nrest".utf8))
      #expect(try await near.readLine(limit: 5) == "1234")
      await #expect(throws: ConnectionError.tooLong(limit: 5)) { try await near.readLine(limit: 5) }
      // Nothing of it is read.
      #expect(try await near.readLine(limit: 6) == "12345")
      #expect(try await near.readLine(limit: 6) == "rest")
    }
  }

  @Test func `a line without an end is refused as soon as it is too long`() async throws {
    try await withLoop { loop in
      let (near, far) = try await connection(
        on: loop, receiving: [UInt8](repeating: 65, count: 100), isEnded: false)
      await #expect(throws: ConnectionError.tooLong(limit: 100)) { try await near.readLine(limit: 100) }
      _ = far
    }
  }

  @Test func `bytes that are not UTF-8 do not end a line`() async throws {
    try await withLoop { loop in
      let (near, _) = try await connection(on: loop, receiving: [65, 0xFF, 66, 10, 67, 10])
      #expect(try await near.readLine() == "A\u{FFFD}B")
      #expect(try await near.readLine() == "C")
    }
  }

  @Test func `a delimiter is a part of what it ends`() async throws {
    try await withLoop { loop in
      let (near, _) = try await connection(on: loop, receiving: [1, 0, 0, 2])
      #expect(try await near.read(through: 0) == [1, 0])
      #expect(try await near.read(through: 0) == [0])
      #expect(try await near.read(through: 0) == [2])
      #expect(try await near.read(through: 0) == nil)
    }
  }

  @Test func `what is read in different ways follows each other`() async throws {
    try await withLoop { loop in
      let (near, _) = try await connection(on: loop, receiving: Array("POST\n3\nabcGET\nend".utf8))
      #expect(try await near.readLine() == "POST")
      let count = try await Int(#require(near.readLine()))!
      #expect(try await near.read(exactly: count) == Array("abc".utf8))
      #expect(try await near.readLine() == "GET")
      var rest: [UInt8] = []
      for try await piece in near { rest += piece }
      #expect(rest == Array("end".utf8))
    }
  }

  @Test func `a cancelled read loses nothing of what has come`() async throws {
    try await withLoop { loop in
      let (near, far) = try await connection(on: loop, receiving: Array("hal".utf8), isEnded: false)
      let reading = Task { try await near.readLine() }
      // It has taken the bytes out of the socket, and waits for more.
      var byte: UInt8 = 0
      while unsafe recv(near.socket!.descriptor, &byte, 1, CInt(MSG_PEEK)) > 0 { await Task.yield() }
      reading.cancel()
      await #expect(throws: ConnectionError.wait(.cancelled)) { try await reading.value }
      try await far.write("f\n")
      #expect(try await near.readLine() == "half")
    }
  }

  @Test func `pieces of one size are read into the same memory, unless one is kept`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      var places: Set<UInt> = []
      for _ in 0..<20 {
        try await far.write([UInt8](repeating: 1, count: 1_000))
        let piece = try await near.read()!
        unsafe piece.withUnsafeBytes { _ = places.insert(UInt(bitPattern: $0.baseAddress)) }
      }
      #expect(places.count == 1)
      var kept: [[UInt8]] = []
      for number in 0..<20 {
        try await far.write([UInt8](repeating: UInt8(number), count: 1_000))
        kept.append(try await near.read()!)
      }
      #expect(kept == (0..<20).map { [UInt8](repeating: UInt8($0), count: 1_000) })
    }
  }

  @Test func `a short piece after a long one does not keep the memory of the long one`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      try await far.write([UInt8](repeating: 1, count: 60_000))
      var kept = [try await near.read()!]
      for _ in 0..<10 {
        try await far.write([1])
        kept.append(try await near.read()!)
      }
      #expect(kept.dropFirst().allSatisfy { $0.capacity < 1_000 })
    }
  }
}
