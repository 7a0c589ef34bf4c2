import RondoSockets
import Testing

/// What is received has memory of its own size.
@Suite struct ReceivedMemoryTests {
  @Test(arguments: [Socket.Kind.stream, .datagram])
  func `20,000 received messages that are kept take the memory of their bytes`(_ kind: Socket.Kind) throws {
    let (near, far) = try Socket.pair(kind)
    var kept: [[UInt8]] = []
    for number in 0..<20_000 {
      let message = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1 + number % 100)
      #expect(try far.send(message[...]) == message.count)
      switch try near.receive() {
      case .bytes(let bytes): kept.append(bytes)
      case .datagram(let datagram): kept.append(datagram.bytes)
      default: Issue.record("message \(number) has not come")
      }
    }
    #expect(kept.count == 20_000)
    let (count, capacity) = kept.reduce((0, 0)) { ($0.0 + $1.count, $0.1 + $1.capacity) }
    #expect(count == (0..<20_000).reduce(0) { $0 + 1 + $1 % 100 })
    // malloc(3) rounds up: 32 bytes of header each, and 16 of rounding.
    #expect(capacity <= count + 20_000 * 48)
  }

  @Test(arguments: [1, 100, 65_535, 65_536])
  func `a received array has room for its bytes and little more`(_ count: Int) throws {
    let (near, far) = try Socket.pair()
    try far.setOption(1, 7, 1 << 20)
    #expect(try far.send([UInt8](repeating: 7, count: count)[...]) == count)
    guard case .bytes(let bytes) = try near.receive() else { throw SocketError.invalid }
    #expect(bytes == [UInt8](repeating: 7, count: count))
    #expect(bytes.capacity <= count + count / 8 + 48)
  }
}
