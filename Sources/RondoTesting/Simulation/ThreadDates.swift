internal import Rondo

/// Threads of hosts with a date each, the earliest first, as a heap. Threads stand by their numbers.
struct ThreadDates {
  private var heap: [(date: Instant, thread: Int)] = []
  /// Where each thread is in the heap; -1 for nowhere.
  private var places: [Int] = []

  /// The earliest date.
  var first: Instant { heap.first?.date ?? .distantFuture }

  /// Gives a thread a date; `.distantFuture` for none.
  mutating func set(_ date: Instant, of thread: Int) {
    while places.count <= thread { places.append(-1) }
    let place = places[thread]
    if date == .distantFuture { return place < 0 ? () : remove(at: place) }
    if place < 0 {
      heap.append((date, thread))
      places[thread] = heap.count - 1
      rise(from: heap.count - 1)
    } else if heap[place].date != date {
      heap[place].date = date
      settle(at: place)
    }
  }

  /// Calls `body` with each thread whose date has come.
  func forEachDue(at now: Instant, _ body: (Int) -> Void) { forEachDue(at: now, from: 0, body) }

  private func forEachDue(at now: Instant, from place: Int, _ body: (Int) -> Void) {
    guard place < heap.count, heap[place].date <= now else { return }
    body(heap[place].thread)
    forEachDue(at: now, from: 2 * place + 1, body)
    forEachDue(at: now, from: 2 * place + 2, body)
  }

  private mutating func remove(at place: Int) {
    swap(place, heap.count - 1)
    places[heap.removeLast().thread] = -1
    if place < heap.count { settle(at: place) }
  }

  private mutating func settle(at place: Int) {
    rise(from: place)
    sink(from: place)
  }

  private mutating func rise(from place: Int) {
    var place = place
    while place > 0, heap[place].date < heap[(place - 1) / 2].date {
      swap(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  private mutating func sink(from place: Int) {
    var place = place
    while true {
      var child = 2 * place + 1
      guard child < heap.count else { return }
      if child + 1 < heap.count, heap[child + 1].date < heap[child].date { child += 1 }
      guard heap[child].date < heap[place].date else { return }
      swap(place, child)
      place = child
    }
  }

  private mutating func swap(_ one: Int, _ other: Int) {
    heap.swapAt(one, other)
    (places[heap[one].thread], places[heap[other].thread]) = (one, other)
  }
}
