import RondoTesting
import Testing

@testable import Rondo

@Suite struct HeapTests {
  // MARK: - DeadlineHeap

  /// Rows with a date and no tolerance, and a heap of their entries.
  private struct Rows: ~Copyable {
    let table = TimerStore()
    var heap = DeadlineHeap()
    private(set) var slots: [UInt32] = []

    mutating func push(_ deadline: Int64) {
      let slot = table.insert(.timeout(.closure {}), group: 0, at: nil)
      table[slot].date = Instant(nanoseconds: deadline)
      table[slot].isArmed = true
      slots.append(slot)
      heap.push(table[slot].date, slot, in: table.rows)
    }

    /// The dates of the rows that have an entry, after a look at each entry's place.
    func checked() -> [Int64] {
      let entries = (0..<heap.count).map { heap[$0] }
      for (index, entry) in entries.enumerated() {
        #expect(table[entry.slot].place == index)
        #expect(index == 0 || entries[(index - 1) / 4].deadline <= entry.deadline)
      }
      return entries.map(\.deadline.nanoseconds).sorted()
    }

    mutating func drain() -> [Int64] {
      var drained: [Int64] = []
      while let top = heap.top {
        drained.append(top.deadline.nanoseconds)
        heap.remove(top.slot, in: table.rows)
        let isQueued = table[top.slot].isQueued
        #expect(!isQueued)
      }
      return drained
    }
  }

  @Test(arguments: 1...20)
  func `a heap gives back what was pushed, by deadline`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var rows = Rows()
    let deadlines = (0..<1000).map { _ in Int64.random(in: 0..<500, using: &random) }
    for deadline in deadlines { rows.push(deadline) }
    let drained = rows.drain()
    #expect(drained == deadlines.sorted())
  }

  @Test(arguments: 1...20)
  func `a heap agrees with a sorted list through any sequence of operations`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var rows = Rows()
    var reference: [Int64] = []
    func replace(_ old: Int64, by new: Int64?) {
      reference.remove(at: reference.firstIndex(of: old)!)
      if let new { reference.insert(new, at: reference.firstIndex { $0 > new } ?? reference.count) }
    }
    for _ in 0..<2000 {
      let deadline = Int64.random(in: 0..<1000, using: &random)
      let place = rows.heap.count == 0 ? 0 : Int.random(in: 0..<rows.heap.count, using: &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<5:
        rows.push(deadline)
        reference.insert(deadline, at: reference.firstIndex { $0 > deadline } ?? reference.count)
      case 5..<7 where !reference.isEmpty:
        let later = reference[0] + deadline
        rows.heap.putOffTop(to: Instant(nanoseconds: later), in: rows.table.rows)
        replace(reference[0], by: later)
      case 7..<9 where !reference.isEmpty:
        let entry = rows.heap[place]
        rows.heap.remove(entry.slot, in: rows.table.rows)
        replace(entry.deadline.nanoseconds, by: nil)
      case 9..<11 where !reference.isEmpty:
        let entry = rows.heap[place]
        rows.heap.bringForward(entry.slot, to: Instant(nanoseconds: deadline), in: rows.table.rows)
        if deadline < entry.deadline.nanoseconds { replace(entry.deadline.nanoseconds, by: deadline) }
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
        rows.heap.revise(in: rows.table.rows, revised)
        reference = reference.filter { $0 % divisor != 0 }.map { $0 % divisor == 1 ? $0 + 1_000_000 : $0 }.sorted()
      }
      let deadlines = rows.checked()
      #expect(deadlines == reference)
    }
    let queued = rows.slots.count { rows.table[$0].isQueued }
    #expect(queued == reference.count)
    let drained = rows.drain()
    #expect(drained == reference)
  }

  @Test(arguments: 0...10)
  func `a revision leaves a heap of any small size in order`(_ count: Int) {
    for kept in 0..<(1 << count) {
      var rows = Rows()
      for slot in (0..<count).reversed() { rows.push(Int64(slot)) }
      rows.heap.revise(in: rows.table.rows) { kept & (1 << $0.deadline.nanoseconds) != 0 ? $0.deadline : nil }
      let deadlines = rows.checked()
      #expect(deadlines == (0..<count).filter { kept & (1 << $0) != 0 }.map(Int64.init))
      let drained = rows.drain()
      #expect(drained == (0..<count).filter { kept & (1 << $0) != 0 }.map(Int64.init))
    }
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
