/// Chooses processors for threads that talk to each other: a core for each, below one cache if there is room.
struct ProcessorChoice: Equatable {
  /// A processor that threads may be kept on.
  struct Processor: Equatable {
    let number: Int
    /// The lowest number among the processors of its core, and among those with the same last cache.
    let core, cache: Int
    /// How many threads are kept on it.
    var load = 0
  }

  var processors: [Processor]

  /// Counts one more thread on a processor.
  mutating func add(_ number: Int) {
    if let index = processors.firstIndex(where: { $0.number == number }) { processors[index].load += 1 }
  }

  /// Chooses `count` processors, each once before any is chosen twice.
  func choose(_ count: Int) -> [Int] {
    let caches = Dictionary(grouping: processors, by: \.cache).sorted { $0.key < $1.key }.map(\.value)
    let roomy = caches.filter { $0.count >= count }
    let choices = (roomy.isEmpty ? [processors] : roomy).map { pick(count, of: $0) }
    return choices.min { $0.cost < $1.cost }?.numbers ?? []
  }

  /// The cost is the number of threads with which the new ones share their cores.
  private func pick(_ count: Int, of processors: [Processor]) -> (numbers: [Int], cost: Int) {
    var left: [Processor] = []
    var loads = Dictionary(grouping: processors, by: \.core).mapValues { $0.reduce(0) { $0 + $1.load } }
    var numbers: [Int] = []
    var cost = 0
    for _ in 0..<count {
      if left.isEmpty { left = processors }
      let best = left.indices.min { first, second in
        let (first, second) = (left[first], left[second])
        return (first.load, loads[first.core]!, first.number) < (second.load, loads[second.core]!, second.number)
      }
      guard let best else { break }
      let chosen = left.remove(at: best)
      cost += loads[chosen.core]!
      loads[chosen.core]! += 1
      numbers.append(chosen.number)
    }
    return (numbers, cost)
  }
}
