internal import Rondo
internal import RondoInspect
internal import Synchronization

/// Which threads of hosts may have something to do, and when the others will. *the thread of the simulation*
///
/// A thread is noted when code of it may have run, when something of its sockets has changed, and when its loop is posted to or
/// changed. So an event costs what these threads have to do, however many there are.
final class HostAgenda {
  /// The threads by their numbers, in the order in which they were made. Those that have ended stay.
  @safe @exclusivity(unchecked) private(set) var threads: [HostThread] = []
  /// How many are present.
  @safe @exclusivity(unchecked) private(set) var presentCount = 0
  /// How often a thread was asked whether it has something to do, or for its place among others.
  @safe @exclusivity(unchecked) var questions = 0
  private let timeline: Timeline
  /// Those that are noted, and in no round.
  @safe @exclusivity(unchecked) private var noted: [HostThread] = []
  /// *constant* The threads whose loops counted as asleep, and were posted to or changed.
  let woken = WokenThreads()
  /// When loops want to go on; and when their next timers are due, which a turn before that date fires, too.
  @safe @exclusivity(unchecked) private var wakes = ThreadDates()
  @safe @exclusivity(unchecked) private var fires = ThreadDates()
  /// The rounds under way, the innermost last.
  @safe @exclusivity(unchecked) private var rounds: [AgendaRound] = []
  /// One that is over, for the next.
  @safe @exclusivity(unchecked) private var spareRound: AgendaRound?

  init(_ timeline: Timeline) { self.timeline = timeline }

  func add(_ thread: HostThread) {
    threads.append(thread)
    presentCount += 1
    note(thread)
  }

  func close() { (threads, noted, spareRound) = ([], [], nil) }

  /// The thread may have something to do.
  func note(_ thread: HostThread) {
    if thread.isNoted { return }
    thread.isNoted = true
    noted.append(thread)
  }

  /// When the first of the threads that are present wants to go on.
  var nextWake: Instant { wakes.first }

  /// A thread has other dates.
  func setDates(of thread: HostThread) {
    wakes.set(thread.isPresent ? thread.wakeDate : .distantFuture, of: thread.number)
    fires.set(thread.isPresent ? thread.fireDate : .distantFuture, of: thread.number)
  }

  // MARK: - Presence

  /// A thread is present no more, or again, by what `change` does.
  func changePresence(of thread: HostThread, _ change: () -> Void) {
    for round in rounds { round.decide() }
    let wasPresent = thread.isPresent
    change()
    presentCount += (thread.isPresent ? 1 : 0) - (wasPresent ? 1 : 0)
    setDates(of: thread)
    note(thread)
  }

  /// A thread that was present is served, and absent as long: the round under way knows of it.
  func beginServing(_ thread: HostThread) {
    presentCount -= 1
    wakes.set(.distantFuture, of: thread.number)
    fires.set(.distantFuture, of: thread.number)
  }

  func endServing(_ thread: HostThread) {
    if !thread.isPresent { return }
    presentCount += 1
    setDates(of: thread)
  }

  // MARK: - Rounds

  /// Serves the threads that have something to do, each once, in an order that the seed picks.
  ///
  /// - Parameter concernsAll: Whether any thread may have been changed: then one that is noted is served, and so is one with a
  ///   timer that is due and could wait.
  /// - Returns: Whether one has called out.
  func serveRound(concernsAll: Bool) -> Bool {
    // What is left for a round around this one can have its turn here.
    if !rounds.isEmpty { for round in rounds { round.giveBack(to: &noted) } }
    let firstChoice = timeline.reserveChoices(max(0, presentCount - 1))
    noteDue(concernsAll)
    noteWoken()
    if noted.isEmpty { return false }
    let round = spareRound.take() ?? AgendaRound(self, timeline)
    round.begin(firstChoice)
    rounds.append(round)
    defer {
      rounds.removeLast()
      round.giveBack(to: &noted)
      spareRound = round
    }
    var hasCalledOut = false
    while true {
      questions += noted.count
      round.add(&noted)
      guard let thread = round.next() else { return hasCalledOut }
      if thread.hasEnded {
        thread.isNoted = false
        continue
      }
      guard thread.isPresent, concernsAll || thread.isConcerned else {
        round.leave(thread)
        continue
      }
      thread.isNoted = false
      round.last = thread
      let date = timeline.now
      if thread.serve() { hasCalledOut = true }
      // It may have spent time.
      if timeline.now != date { noteDue(concernsAll) }
      noteWoken()
    }
  }

  private func noteDue(_ concernsAll: Bool) {
    let now = timeline.now
    if wakes.first <= now { wakes.forEachDue(at: now) { note(threads[$0]) } }
    if concernsAll, fires.first <= now { fires.forEachDue(at: now) { note(threads[$0]) } }
  }

  private func noteWoken() {
    if woken.isEmpty { return }
    let (numbers, strays) = woken.take()
    for number in numbers { note(threads[number]) }
    for (number, stray) in strays { Strays.tell(stray, to: threads[number].title, timeline) }
  }
}

/// One round: each thread of it has its turn at its place. *the thread of the simulation*
///
/// A seed picks the order of all that are present, but the order is asked for only where two threads have something to do.
final class AgendaRound {
  /// The thread that was served last.
  @safe @exclusivity(unchecked) var last: HostThread?
  private let agenda: HostAgenda
  private let timeline: Timeline
  @safe @exclusivity(unchecked) private var threadCount = 0
  @safe @exclusivity(unchecked) private var firstChoice = 0
  /// By the threads' numbers, once they are decided; -1 for one that is not in the round.
  @safe @exclusivity(unchecked) private var places: [Int]?
  /// Those that are still to have their turn, the next one last.
  @safe @exclusivity(unchecked) private var rest: [HostThread] = []
  /// Those whose place is over.
  @safe @exclusivity(unchecked) private var later: [HostThread] = []

  init(_ agenda: HostAgenda, _ timeline: Timeline) { (self.agenda, self.timeline) = (agenda, timeline) }

  /// - Parameter firstChoice: The place of the first of the choices that make the order.
  func begin(_ firstChoice: Int) {
    self.firstChoice = firstChoice
    threadCount = agenda.threads.count
    (last, places) = (nil, nil)
  }

  /// Decides the order of all threads that are present, before one of them is not.
  func decide() {
    if places != nil { return }
    agenda.questions += threadCount
    var order = agenda.threads[..<threadCount].filter { $0.isPresent || $0 === last }
    timeline.permute(&order, by: firstChoice)
    var decided = [Int](repeating: -1, count: threadCount)
    for (place, thread) in order.enumerated() { decided[thread.number] = place }
    places = decided
  }

  /// The place of a thread; -1 for one that is not in the round.
  private func place(of thread: HostThread) -> Int {
    if thread.number >= threadCount { return -1 }
    if places == nil, timeline.seed == nil { return thread.number }
    decide()
    return places![thread.number]
  }

  /// Takes over threads: those whose place is over have their turn in the next round.
  func add(_ noted: inout [HostThread]) {
    if noted.isEmpty { return }
    if noted.count == 1, last == nil {
      rest.append(noted[0])
    } else {
      for thread in noted {
        if thread !== last, place(of: thread) > (last.map(place) ?? -1) {
          rest.append(thread)
        } else {
          later.append(thread)
        }
      }
      if rest.count > 1 { rest.sort { place(of: $0) > place(of: $1) } }
    }
    noted.removeAll(keepingCapacity: true)
  }

  func next() -> HostThread? { rest.popLast() }
  func leave(_ thread: HostThread) { later.append(thread) }

  func giveBack(to noted: inout [HostThread]) {
    if !rest.isEmpty { noted += rest }
    if !later.isEmpty { noted += later }
    rest.removeAll(keepingCapacity: true)
    later.removeAll(keepingCapacity: true)
  }
}

/// The numbers of threads that other code has woken. Any thread.
final class WokenThreads: Sendable {
  private struct News {
    var numbers: [Int] = []
    /// Those that a thread of no host has woken, and where it was.
    var strays: [(number: Int, ThreadSample)] = []
  }

  private let news = Guarded(News())
  /// *atomic* Spares the thread of the simulation the lock.
  private let count = Atomic(0)

  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  /// - Parameter isStray: Whether the caller is no thread of the simulation.
  func add(_ number: Int, isStray: Bool) {
    let stray = isStray ? ThreadSample.ofCallingThread() : nil
    news.withLock { news in
      news.numbers.append(number)
      if let stray { news.strays.append((number, stray)) }
    }
    count.add(1, ordering: .releasing)
  }

  func take() -> (numbers: [Int], strays: [(number: Int, ThreadSample)]) {
    let taken = news.withLock { news in
      defer { news = News() }
      return news
    }
    count.subtract(taken.numbers.count, ordering: .relaxed)
    return (taken.numbers, taken.strays)
  }
}
