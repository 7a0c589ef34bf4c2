internal import Rondo

/// Hosts with a date each, the earliest first, as a heap. Hosts stand by their numbers.
struct HostDates {
  private var heap: [(date: Instant, host: Int)] = []
  /// Where each host is in the heap; -1 for nowhere.
  private var places: [Int] = []

  /// The earliest date.
  var first: Instant { heap.first?.date ?? .distantFuture }

  /// Gives a host a date; `.distantFuture` for none.
  mutating func set(_ date: Instant, of host: Int) {
    while places.count <= host { places.append(-1) }
    let place = places[host]
    if date == .distantFuture { return place < 0 ? () : remove(at: place) }
    if place < 0 {
      heap.append((date, host))
      places[host] = heap.count - 1
      rise(from: heap.count - 1)
    } else if heap[place].date != date {
      heap[place].date = date
      settle(at: place)
    }
  }

  /// Calls `body` with each host whose date has come.
  func forEachDue(at now: Instant, _ body: (Int) -> Void) { forEachDue(at: now, from: 0, body) }

  private func forEachDue(at now: Instant, from place: Int, _ body: (Int) -> Void) {
    guard place < heap.count, heap[place].date <= now else { return }
    body(heap[place].host)
    forEachDue(at: now, from: 2 * place + 1, body)
    forEachDue(at: now, from: 2 * place + 2, body)
  }

  private mutating func remove(at place: Int) {
    swap(place, heap.count - 1)
    places[heap.removeLast().host] = -1
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
    (places[heap[one].host], places[heap[other].host]) = (one, other)
  }
}
