/// How many places are taken on each loop of a group, and whose turn it is.
struct LoopTally {
  private(set) var loads: [Int]
  private var turn = 0

  init(count: Int) {
    loads = Array(repeating: 0, count: count)
  }

  /// Takes a place, and says on which loop.
  mutating func take(by choice: LoopGroup.Choice) -> Int {
    var index = turn
    if choice == .leastLoaded {
      for other in loads.indices.map({ (turn + $0) % loads.count }) where loads[other] < loads[index] { index = other }
    }
    turn = (index + 1) % loads.count
    loads[index] += 1
    return index
  }

  mutating func leave(_ index: Int) { loads[index] -= 1 }
}
