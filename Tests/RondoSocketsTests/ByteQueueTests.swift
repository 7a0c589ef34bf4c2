import RondoSockets
import RondoTesting
import Testing

/// The queue below whatever receives or sends bytes.
@Suite struct ByteQueueTests {
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `bytes come out in the order in which they were appended`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var queue = ByteQueue()
    var model: [UInt8] = []
    for _ in 0..<300 {
      let piece = (0..<Int.random(in: 0...2_000, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
      let count = Int.random(in: 0...model.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        queue.append { $0 += piece }
        model += piece
      case 1:
        queue.append(piece, expecting: count)
        model += piece
      case 2:
        #expect(queue.take(atMost: count) == Array(model.prefix(count)))
        model.removeFirst(count)
      case 3:
        let skipped = count / 2
        #expect(queue.takeOut(count - skipped, behind: skipped) == Array(model[skipped..<count]))
        model.removeFirst(count)
      case 4:
        queue.consume(count)
        model.removeFirst(count)
      default: queue.trim()
      }
      #expect(queue.count == model.count && queue.isEmpty == model.isEmpty && queue.rest.elementsEqual(model))
    }
  }

  @Test func `a trimmed queue has at most twice the memory of its bytes`() {
    var queue = ByteQueue()
    queue.append([UInt8](repeating: 1, count: 100_000), expecting: nil)
    queue.consume(60_000)
    queue.trim()
    #expect(queue.count == 40_000 && queue.held < 80_000)
    queue.consume(40_000)
    queue.trim()
    #expect(queue.held == 0)
  }

  @Test func `a queue for a known length takes no more memory than that`() {
    var queue = ByteQueue()
    for _ in 0..<100 { queue.append([UInt8](repeating: 1, count: 1_000), expecting: 100_000) }
    #expect(queue.count == 100_000 && queue.held < 101_000)
  }

  @Test func `a queue that was emptied uses its memory again`() {
    var queue = ByteQueue()
    queue.append { $0 += [UInt8](repeating: 1, count: 1_000) }
    let before = unsafe queue.rest.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    queue.consume(1_000)
    queue.append { $0 += [1] }
    let after = unsafe queue.rest.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    #expect(before == after)
  }
}
