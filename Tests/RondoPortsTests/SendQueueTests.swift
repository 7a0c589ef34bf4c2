import RondoSockets
import Testing

@testable import RondoPorts

/// Frames that wait for room, sent a few bytes at a time.
@Suite struct SendQueueTests {
  @Test func `frames go in order, however little room there is`() throws {
    var queue = SendQueue()
    let frames = (0..<200).map { Frame(.notice, identifier: $0, [UInt8](repeating: 1, count: Int($0) % 5)) }
    let tickets = frames.map { queue.append($0) }
    var sent: [UInt8] = []
    let all = frames.flatMap(\.encoded)
    #expect(queue.count == all.count)
    while !queue.isEmpty {
      var room = 7
      try queue.send { bytes throws(SocketError) in
        let piece = bytes.prefix(room)
        room -= piece.count
        sent += piece
        return piece.count
      }
      // A ticket is used up with the last byte of its frame.
      var end = 0
      for (frame, ticket) in zip(frames, tickets) {
        end += frame.encoded.count
        #expect(queue.hasSent(ticket) == (sent.count >= end))
      }
    }
    #expect(sent == all)
    #expect(queue.count == 0)
  }

  @Test(arguments: 0..<3)
  func `a frame of which nothing has gone is taken back`(_ place: Int) throws {
    var queue = SendQueue()
    let frames = (0..<3).map { Frame(.notice, identifier: $0) }
    let tickets = frames.map { queue.append($0) }
    queue.revoke(tickets[place])
    var left = frames
    left.remove(at: place)
    #expect(try drain(&queue) == left.flatMap(\.encoded))
  }

  @Test func `the rest of a frame that has begun cannot be taken back`() throws {
    var queue = SendQueue()
    let frame = Frame(.notice, [1, 2, 3])
    let ticket = queue.append(frame)
    var isFirst = true
    try queue.send { _ throws(SocketError) in
      defer { isFirst = false }
      return isFirst ? 1 : 0
    }
    queue.revoke(ticket)
    #expect(try drain(&queue) == Array(frame.encoded.dropFirst()))
    #expect(queue.hasSent(ticket))
  }

  @Test func `taking back what has gone changes nothing`() throws {
    var queue = SendQueue()
    let first = queue.append(Frame(.notice))
    _ = try drain(&queue)
    let second = Frame(.notice, identifier: 2)
    _ = queue.append(second)
    queue.revoke(first)
    #expect(try drain(&queue) == second.encoded)
  }

  private func drain(_ queue: inout SendQueue) throws -> [UInt8] {
    var sent: [UInt8] = []
    try queue.send { bytes throws(SocketError) in
      sent += bytes
      return bytes.count
    }
    return sent
  }
}
