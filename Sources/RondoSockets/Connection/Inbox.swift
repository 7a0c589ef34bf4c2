/// Bytes that were received and not yet read. *the task that reads*
package final class Inbox: @unchecked Sendable {
  // Unchecked: one task at a time reads from a connection.

  /// The most memory that a connection keeps while it waits, without bytes in it.
  private static let mostKept = 4_096

  @safe @exclusivity(unchecked) private var queue = ByteQueue()

  package var count: Int { queue.count }
  /// Whether no byte was read yet.
  @safe @exclusivity(unchecked) private(set) var isFresh = true

  /// Has `body` append bytes.
  package func fill<Answer, Failure: Error>(_ body: (inout [UInt8]) throws(Failure) -> Answer) throws(Failure) -> Answer
  {
    try queue.append(by: body)
  }

  /// Takes out at most so many bytes.
  func take(atMost limit: Int) -> [UInt8] {
    isFresh = false
    return queue.take(atMost: limit)
  }

  /// Has `body` take bytes from the front, and leaves out as many as it says.
  package func consume(_ body: (RawSpan) -> Int) {
    isFresh = false
    let rest = queue.rest
    queue.consume(body(unsafe rest.span.bytes))
  }

  /// What `body` says of the bytes.
  func measure(_ body: (ArraySlice<UInt8>) -> Int) -> Int { body(queue.rest) }

  /// How many bytes there are up to and with the first `delimiter`; nil if there is none.
  ///
  /// - Parameter known: In so many bytes at the front there is none.
  func countThrough(_ delimiter: UInt8, after known: Int) -> Int? {
    let rest = queue.rest
    return rest.dropFirst(known).firstIndex(of: delimiter).map { $0 + 1 - rest.startIndex }
  }

  /// Gives back memory before a wait that may be long.
  package func shrink() {
    if queue.isEmpty, queue.held > Self.mostKept { queue = ByteQueue() }
  }
}
