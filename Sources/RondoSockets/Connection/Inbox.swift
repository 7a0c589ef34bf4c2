/// Bytes that were received and not yet read. *the task that reads*
package final class Inbox: @unchecked Sendable {
  // Unchecked: one task at a time reads from a connection.

  /// The most memory that a connection keeps while it waits, without bytes in it.
  private static let mostKept = 4_096

  /// What was received. The first `start` bytes have been read.
  @safe @exclusivity(unchecked) private var bytes: [UInt8] = []
  @safe @exclusivity(unchecked) private var start = 0

  package var count: Int { bytes.count - start }

  /// Has `body` append bytes.
  package func fill<Answer, Failure: Error>(_ body: (inout [UInt8]) throws(Failure) -> Answer) throws(Failure) -> Answer
  {
    if count == 0 {
      // The memory is used again if the task has let go of it.
      if !bytes.isEmpty { bytes.removeAll(keepingCapacity: true) }
      start = 0
    } else if start > 65_536, start > count {
      bytes.removeFirst(start)
      start = 0
    }
    return try body(&bytes)
  }

  /// Takes out at most so many bytes.
  func take(atMost limit: Int) -> [UInt8] {
    let end = start + min(limit, count)
    defer { start = end }
    // Without a copy, if that is all there is.
    return start == 0 && end == bytes.count ? bytes : Array(bytes[start..<end])
  }

  /// Has `body` take bytes from the front, and leaves out as many as it says.
  package func consume(_ body: (RawSpan) -> Int) {
    start += body(unsafe bytes.span.bytes.extracting(start...))
  }

  /// How many bytes there are up to and with the first `delimiter`; nil if there is none.
  ///
  /// - Parameter known: In so many bytes at the front there is none.
  func countThrough(_ delimiter: UInt8, after known: Int) -> Int? {
    bytes[(start + known)...].firstIndex(of: delimiter).map { $0 + 1 - start }
  }

  /// Gives back memory before a wait that may be long.
  package func shrink() {
    if count == 0, bytes.capacity > Self.mostKept { (bytes, start) = ([], 0) }
  }
}
