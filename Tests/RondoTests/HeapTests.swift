import RondoTesting
import Testing

@testable import Rondo

@Suite struct HeapTests {
  // MARK: - DeadlineHeap

  @Test(arguments: 1...20)
  func `a heap gives back what was pushed, by deadline`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var heap = DeadlineHeap()
    var reference: [Int64] = []
    for slot in 0..<1000 {
      let deadline = Int64.random(in: 0..<500, using: &random)
      heap.push(.init(deadline: Instant(nanoseconds: deadline), slot: UInt32(slot), version: 0))
      reference.append(deadline)
    }
    #expect(drain(&heap) == reference.sorted())
  }

  @Test(arguments: 1...20)
  func `a heap agrees with a sorted list through any sequence of operations`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var heap = DeadlineHeap()
    var reference: [Int64] = []
    for _ in 0..<3000 {
      let deadline = Int64.random(in: 0..<1000, using: &random)
      let entry = DeadlineHeap.Entry(deadline: Instant(nanoseconds: deadline), slot: 0, version: 0)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        heap.push(entry)
        reference.insert(deadline, at: reference.firstIndex { $0 > deadline } ?? reference.count)
      case 5..<7 where !reference.isEmpty:
        heap.replaceTop(with: entry)
        reference.removeFirst()
        reference.insert(deadline, at: reference.firstIndex { $0 > deadline } ?? reference.count)
      case 7..<9 where !reference.isEmpty:
        heap.removeTop()
        reference.removeFirst()
      default:
        let divisor = Int64.random(in: 2...7, using: &random)
        // Some go, some are put off by a millisecond.
        func revised(_ entry: DeadlineHeap.Entry) -> Instant? {
          switch entry.deadline.nanoseconds % divisor {
          case 0: nil
          case 1: entry.deadline.advanced(by: 1_000_000)
          default: entry.deadline
          }
        }
        heap.revise(announcing: { _ in }, revised)
        reference = reference.filter { $0 % divisor != 0 }.map { $0 % divisor == 1 ? $0 + 1_000_000 : $0 }.sorted()
      }
      #expect(heap.count == reference.count)
      #expect(heap.top?.deadline.nanoseconds == reference.first)
    }
    #expect(drain(&heap) == reference)
  }

  @Test(arguments: 0...10)
  func `a revision leaves a heap of any small size in order`(_ count: Int) {
    for kept in 0..<(1 << count) {
      var heap = DeadlineHeap()
      for slot in (0..<count).reversed() {
        heap.push(.init(deadline: Instant(nanoseconds: Int64(slot)), slot: UInt32(slot), version: 0))
      }
      heap.revise(announcing: { _ in }, { kept & (1 << $0.slot) != 0 ? $0.deadline : nil })
      #expect(drain(&heap) == (0..<count).filter { kept & (1 << $0) != 0 }.map(Int64.init))
    }
  }

  private func drain(_ heap: inout DeadlineHeap) -> [Int64] {
    var drained: [Int64] = []
    while let top = heap.top {
      drained.append(top.deadline.nanoseconds)
      heap.removeTop()
    }
    return drained
  }

  // MARK: - The timers of a loop against a list of them

  /// What the reference knows of a timer.
  private struct Expected {
    let timer: Loop.Timer
    let name: Int
    let order: Int
    var date: Int64
    var tolerance: Int64
    var stamp: Int
  }

  @Test(arguments: 1...30)
  func `timers added, moved, tolerated and cancelled at random fire as a sorted list says`(_ seed: UInt64) {
    withVirtualLoop { virtual in
      var random = SeededRandom(seed: seed)
      let fired = Later<[Int]>([])
      let start = virtual.now
      var list: [Expected] = []
      var stamp = 0
      for step in 0..<800 {
        stamp += 1
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<5:
          let (date, order) = (Int64.random(in: 0..<60, using: &random), Int.random(in: -1...1, using: &random))
          let tolerance = Bool.random(using: &random) ? 0 : Int64.random(in: 1..<30, using: &random)
          let timer = Loop.Timer(
            at: start.advanced(by: .milliseconds(date)), tolerance: .milliseconds(tolerance), order: order
          ) { _ in fired.value.append(step) }
          let modes: [Loop.Mode] = Bool.random(using: &random) ? [.default] : [.default, "m"]
          for mode in modes { virtual.loop.add(timer, to: mode) }
          list.append(
            Expected(timer: timer, name: step, order: order, date: date, tolerance: tolerance, stamp: stamp))
        case 5..<8 where !list.isEmpty:
          let place = Int.random(in: 0..<list.count, using: &random)
          list[place].date = Int64.random(in: 0..<60, using: &random)
          list[place].stamp = stamp
          list[place].timer.fireDate = start.advanced(by: .milliseconds(list[place].date))
        case 8 where !list.isEmpty:
          let place = Int.random(in: 0..<list.count, using: &random)
          list[place].tolerance = Int64.random(in: 0..<30, using: &random)
          list[place].stamp = stamp
          list[place].timer.tolerance = .milliseconds(list[place].tolerance)
        case 9 where !list.isEmpty:
          list.remove(at: Int.random(in: 0..<list.count, using: &random)).timer.invalidate()
        case 10 where !list.isEmpty:
          let place = Int.random(in: 0..<list.count, using: &random)
          virtual.loop.remove(list[place].timer)
          virtual.loop.add(list[place].timer)
          list[place].stamp = stamp
        default:
          virtual.loop.remove(Loop.Timer(after: .zero) { _ in })
        }
        #expect(virtual.loop.nextFireDate() == list.map(\.date).min().map { start.advanced(by: .milliseconds($0)) })
      }
      let (expected, wakes) = simulate(list)
      #expect(virtual.loop.run() == .finished)
      #expect(fired.value == expected)
      #expect(virtual.sleeps == wakes)
    }
  }

  /// Wakes for the earliest hard deadline and fires all whose date has passed: the model, the slow way.
  private func simulate(_ timers: [Expected]) -> (fired: [Int], wakes: Int) {
    var rest = timers
    var fired: [Int] = []
    var wakes = 0
    while let wake = rest.map({ $0.date + $0.tolerance }).min() {
      if wake > 0 { wakes += 1 }
      let due = rest.filter { $0.date <= wake }
      rest.removeAll { $0.date <= wake }
      fired += due.sorted { ($0.date, $0.order, $0.stamp) < ($1.date, $1.order, $1.stamp) }.map(\.name)
    }
    return (fired, wakes)
  }
}
