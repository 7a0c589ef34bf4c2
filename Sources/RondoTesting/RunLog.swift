internal import Synchronization

/// Which choices of a run were not the documented ones, and what happened in it. Any thread.
package final class RunLog: Sendable {
  /// The log of the task's virtual loops and simulations.
  @TaskLocal package static var current: RunLog?

  private struct Notes {
    var places: Set<Int> = []
    var sentences: [String] = []
    var events: [String] = []
  }

  /// A run may have more faults than a reader has time for.
  private static let mostSentences = 50

  /// *constant* Whether it keeps what happened as sentences.
  let tells: Bool
  /// *constant* How many events it keeps, the last ones.
  let eventCount: Int
  private let notes = Mutex(Notes())

  package init(tells: Bool = false, eventCount: Int = 0) {
    (self.tells, self.eventCount) = (tells, eventCount)
  }

  /// The places of the choices.
  package var places: Set<Int> { notes.withLock { $0.places } }

  /// What came of the choices, and the faults that were planned.
  package var sentences: [String] {
    let all = notes.withLock { $0.sentences }
    let more = all.count - Self.mostSentences
    return more > 0 ? all[..<Self.mostSentences] + ["There were \(more) more."] : all
  }

  /// The last events.
  package var events: [String] { notes.withLock { $0.events.suffix(eventCount) } }

  func note(_ place: Int) {
    notes.withLock { _ = $0.places.insert(place) }
  }

  func tell(_ sentence: String) {
    notes.withLock { $0.sentences.append(sentence) }
  }

  func noteEvent(_ event: String) {
    notes.withLock { notes in
      notes.events.append(event)
      if notes.events.count > 2 * eventCount { notes.events.removeFirst(eventCount) }
    }
  }
}
