/// Bytes that wait for room, in order. Amortised O(1) a byte.
package struct Outbox: Sendable {
  private var bytes: [UInt8] = []
  /// How many at the front have gone.
  private var sent = 0

  package init() {}

  package var count: Int { bytes.count - sent }
  package var isEmpty: Bool { sent == bytes.count }

  package mutating func append(_ more: ArraySlice<UInt8>) {
    bytes += more
  }

  mutating func append(_ more: RawSpan) {
    unsafe more.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  /// Sends as much as there is room for.
  ///
  /// - Parameter send: Sends a beginning of what it is given, and returns how much; 0 ends it.
  package mutating func send(_ send: (ArraySlice<UInt8>) throws(SocketError) -> Int) throws(SocketError) {
    while !isEmpty {
      let count = try send(bytes[sent...])
      if count == 0 { break }
      sent += count
    }
    if isEmpty {
      bytes = []
      sent = 0
    } else if sent > 65_536, sent > bytes.count / 2 {
      bytes.removeFirst(sent)
      sent = 0
    }
  }
}
