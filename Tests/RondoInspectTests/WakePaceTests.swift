import Testing

@testable import RondoInspect

/// Which loops are looked at, and which have an alarm.
struct WakePaceTests {
  private static let period: Int64 = 1_000

  /// What each of some wakes is found to be.
  private func answers(to wakes: [Int64], in period: Int64 = Self.period) -> [Bool] {
    var pace = WakePace()
    return wakes.map { pace.wakesOften(at: $0, in: period) }
  }

  private let most = Int(WakePace.most)

  @Test func `as many wakes in a period as an alarm is worth are seldom, and one more is often`() {
    let answers = answers(to: [Int64](repeating: 5, count: most) + [4 + Self.period])
    #expect(answers == [Bool](repeating: false, count: most) + [true])
  }

  @Test func `a period begins with the first wake after the last one was over`() {
    let wakes = [Int64](repeating: 5, count: most) + [Int64](repeating: 5 + Self.period, count: most)
    #expect(answers(to: wakes) == [Bool](repeating: false, count: 2 * most))
    #expect(answers(to: wakes + [4 + 2 * Self.period]).last == true)
  }

  @Test func `a loop that wakes at even distances is the same, however long it does`() {
    let distance = Self.period / Int64(WakePace.most)
    #expect(!answers(to: (0..<10_000).map { distance * $0 }).contains(true))
    #expect(answers(to: (0..<10_000).map { distance / 2 * $0 }).contains(true))
  }

  @Test func `a period that ends with time itself has no end`() {
    let answers = answers(to: [Int64](repeating: 7, count: most) + [.max - 1], in: .max)
    #expect(answers == [Bool](repeating: false, count: most) + [true])
  }
}
