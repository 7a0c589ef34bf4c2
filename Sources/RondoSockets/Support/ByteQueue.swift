/// Bytes in order, appended at the end and taken from the front. Amortised O(1) a byte.
package struct ByteQueue: Sendable {
  /// The first `start` bytes have been taken.
  private var bytes: [UInt8] = []
  private var start = 0

  package init() {}

  package var count: Int { bytes.count - start }
  package var isEmpty: Bool { start == bytes.count }
  /// How much memory it takes, in bytes.
  package var held: Int { bytes.capacity }
  /// The bytes in the queue. A copy of them must not live on while the queue is changed: it would be copied then.
  package var rest: ArraySlice<UInt8> { bytes[start...] }

  /// Has `body` append bytes, in the memory of those before unless it is shared.
  package mutating func append<Answer, Failure: Error>(
    by body: (inout [UInt8]) throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    if isEmpty {
      if start > 0 { bytes.removeAll(keepingCapacity: true) }
      start = 0
    } else if start > 65_536, start > count {
      bytes.removeFirst(start)
      start = 0
    }
    return try body(&bytes)
  }

  /// Appends bytes, in no more memory than twice what waits, and than `length` bytes need if so many are expected.
  package mutating func append(_ more: [UInt8], expecting length: Int?) {
    if isEmpty {
      (bytes, start) = (more, 0)
      return
    }
    let needed = count + more.count
    if start > 0 || needed > bytes.capacity {
      var roomy: [UInt8] = []
      roomy.reserveCapacity(max(needed, min(2 * needed, length ?? needed)))
      roomy += rest
      (bytes, start) = (roomy, 0)
    }
    bytes += more
  }

  /// Takes out bytes, at most `limit`. All that there are share their memory with the queue until it is used again.
  package mutating func take(atMost limit: Int) -> [UInt8] {
    let end = start + min(limit, count)
    defer { start = end }
    return start == 0 && end == bytes.count ? bytes : Array(bytes[start..<end])
  }

  /// Takes out `count` bytes behind `skipped` ones, which go as well, and gives back memory.
  ///
  /// Many bytes keep the memory that they were appended in, and those behind them move: nothing is there twice but the
  /// shorter of both.
  package mutating func takeOut(_ count: Int, behind skipped: Int) -> [UInt8] {
    let end = start + skipped + count
    if count <= bytes.count - end || bytes.capacity > 2 * count {
      defer {
        consume(skipped + count)
        trim()
      }
      return Array(bytes[(start + skipped)..<end])
    }
    let behind = Array(bytes[end...])
    var taken = bytes
    bytes = behind
    taken.removeSubrange(end...)
    taken.removeSubrange(..<(start + skipped))
    start = 0
    return taken
  }

  /// Leaves out the first bytes.
  package mutating func consume(_ count: Int) {
    start += count
  }

  /// Gives back memory: there is at most twice of what waits.
  package mutating func trim() {
    if isEmpty {
      self = ByteQueue()
    } else if start > bytes.count / 2 {
      bytes = unsafe rest.withUnsafeBufferPointer { unsafe Array($0) }
      start = 0
    }
  }
}
