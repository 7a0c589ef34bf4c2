import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Calls that are cancelled at any point, on the loop's thread and on the runtime's.
@Suite struct ConnectionCancellationTests {
  @Test func `cancelled reads lose no byte, and repeat none`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      var random = SeededRandom(seed: 31)
      var (sent, received): (UInt8, UInt8) = (0, 0)
      // Where reads are cancelled before they begin, a socket that is full would keep a write for ever.
      var unread = 0
      for _ in 0..<stressCount(100_000) {
        let reading = Task(executorPreference: Bool.random(using: &random) ? loop : nil) {
          try await near.read(upTo: 3)
        }
        if Bool.random(using: &random), unread < 100 {
          let bytes = (0..<Int.random(in: 1...4, using: &random)).map { sent &+ UInt8($0) }
          unread += bytes.count
          sent &+= UInt8(bytes.count)
          try await far.write(bytes)
        }
        for _ in 0..<Int.random(in: 0..<4, using: &random) { await Task.yield() }
        reading.cancel()
        let last = received
        received = try check(await reading.result, after: last)
        unread -= Int(received &- last)
      }
      try await far.finishWriting()
      while let bytes = try await near.read() { received = try check(.success(bytes), after: received) }
      #expect(received == sent)
    }
  }

  @Test func `cancelled writes are sent whole or not at all`() async throws {
    try await withLoop { loop in
      let (near, far) = try Connection.pair(on: loop)
      var random = SeededRandom(seed: 13)
      let reading = Task {
        var sum = 0
        for try await bytes in far { sum += bytes.count }
        return sum
      }
      var sent = 0
      for _ in 0..<stressCount(100_000) {
        // Several at a time, so that some wait for their turn.
        let writing = (0..<Int.random(in: 1...3, using: &random)).map { _ in
          Task(executorPreference: Bool.random(using: &random) ? loop : nil) { try await near.write([1, 2, 3]) }
        }
        for _ in 0..<Int.random(in: 0..<4, using: &random) { await Task.yield() }
        for task in writing where Bool.random(using: &random) { task.cancel() }
        for task in writing {
          switch await task.result {
          case .success: sent += 3
          case .failure(let error): try #require(error as? ConnectionError == .wait(.cancelled))
          }
        }
      }
      try await near.finishWriting()
      #expect(try await reading.value == sent)
    }
  }

  /// - Returns: The byte that comes next.
  private func check(_ result: Result<[UInt8]?, any Error>, after received: UInt8) throws -> UInt8 {
    switch result {
    case .success(let bytes):
      let bytes = try #require(bytes)
      try #require(bytes == bytes.indices.map { received &+ UInt8($0 & 255) })
      return received &+ UInt8(bytes.count & 255)
    case .failure(let error):
      try #require(error as? ConnectionError == .wait(.cancelled))
      return received
    }
  }
}
