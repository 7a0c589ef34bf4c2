internal import Rondo
internal import Synchronization

/// Which hosts may have something to do, and when the others will. *the thread of the simulation*
///
/// A host is noted when code of it may have run, when something of its sockets has changed, and when its loop is posted to or
/// changed. So an event costs what these hosts have to do, however many there are.
final class HostAgenda {
  /// The hosts by their numbers, in the order in which they were made.
  @safe @exclusivity(unchecked) private(set) var hosts: [Host] = []
  /// How many are present.
  @safe @exclusivity(unchecked) private(set) var presentCount = 0
  /// How often a host was asked whether it has something to do, or for its place among others.
  @safe @exclusivity(unchecked) var questions = 0
  private let timeline: Timeline
  /// Those that are noted, and in no round.
  @safe @exclusivity(unchecked) private var noted: [Host] = []
  /// *constant* The hosts whose loops counted as asleep, and were posted to or changed.
  let woken = WokenHosts()
  /// When loops want to go on; and when their next timers are due, which a turn before that date fires, too.
  @safe @exclusivity(unchecked) private var wakes = HostDates()
  @safe @exclusivity(unchecked) private var fires = HostDates()
  /// The rounds under way, the innermost last.
  @safe @exclusivity(unchecked) private var rounds: [HostRound] = []
  /// One that is over, for the next.
  @safe @exclusivity(unchecked) private var spareRound: HostRound?

  init(_ timeline: Timeline) { self.timeline = timeline }

  func add(_ host: Host) {
    hosts.append(host)
    presentCount += 1
    note(host)
  }

  func close() { (hosts, noted, spareRound) = ([], [], nil) }

  /// The host may have something to do.
  func note(_ host: Host) {
    if host.isNoted { return }
    host.isNoted = true
    noted.append(host)
  }

  /// When the first of the hosts that are present wants to go on.
  var nextWake: Instant { wakes.first }

  /// A host has other dates.
  func setDates(of host: Host) {
    wakes.set(host.isPresent ? host.wakeDate : .distantFuture, of: host.number)
    fires.set(host.isPresent ? host.fireDate : .distantFuture, of: host.number)
  }

  // MARK: - Presence

  /// A host is present no more, or again, by what `change` does.
  func changePresence(of host: Host, _ change: () -> Void) {
    for round in rounds { round.decide() }
    let wasPresent = host.isPresent
    change()
    presentCount += (host.isPresent ? 1 : 0) - (wasPresent ? 1 : 0)
    setDates(of: host)
    note(host)
  }

  /// A host that was present is served, and absent as long: the round under way knows of it.
  func beginServing(_ host: Host) {
    presentCount -= 1
    wakes.set(.distantFuture, of: host.number)
    fires.set(.distantFuture, of: host.number)
  }

  func endServing(_ host: Host) {
    if !host.isPresent { return }
    presentCount += 1
    setDates(of: host)
  }

  // MARK: - Rounds

  /// Serves the hosts that have something to do, each once, in an order that the seed picks.
  ///
  /// - Parameter concernsAll: Whether any host may have been changed: then one that is noted is served, and so is one with a
  ///   timer that is due and could wait.
  /// - Returns: Whether one has called out.
  func serveRound(concernsAll: Bool) -> Bool {
    // What is left for a round around this one can have its turn here.
    if !rounds.isEmpty { for round in rounds { round.giveBack(to: &noted) } }
    let firstChoice = timeline.reserveChoices(max(0, presentCount - 1))
    noteDue(concernsAll)
    noteWoken()
    if noted.isEmpty { return false }
    let round = spareRound.take() ?? HostRound(self, timeline)
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
      guard let host = round.next() else { return hasCalledOut }
      guard host.isPresent, concernsAll || host.isConcerned else {
        round.leave(host)
        continue
      }
      host.isNoted = false
      round.last = host
      let date = timeline.now
      if host.serve() { hasCalledOut = true }
      // It may have spent time.
      if timeline.now != date { noteDue(concernsAll) }
      noteWoken()
    }
  }

  private func noteDue(_ concernsAll: Bool) {
    let now = timeline.now
    if wakes.first <= now { wakes.forEachDue(at: now) { note(hosts[$0]) } }
    if concernsAll, fires.first <= now { fires.forEachDue(at: now) { note(hosts[$0]) } }
  }

  private func noteWoken() {
    if woken.isEmpty { return }
    for number in woken.take() { note(hosts[number]) }
  }
}

/// One round: each host of it has its turn at its place. *the thread of the simulation*
///
/// A seed picks the order of all that are present, but the order is asked for only where two hosts have something to do.
final class HostRound {
  /// The host that was served last.
  @safe @exclusivity(unchecked) var last: Host?
  private let agenda: HostAgenda
  private let timeline: Timeline
  @safe @exclusivity(unchecked) private var hostCount = 0
  @safe @exclusivity(unchecked) private var firstChoice = 0
  /// By the hosts' numbers, once they are decided; -1 for one that is not in the round.
  @safe @exclusivity(unchecked) private var places: [Int]?
  /// Those that are still to have their turn, the next one last.
  @safe @exclusivity(unchecked) private var rest: [Host] = []
  /// Those whose place is over.
  @safe @exclusivity(unchecked) private var later: [Host] = []

  init(_ agenda: HostAgenda, _ timeline: Timeline) { (self.agenda, self.timeline) = (agenda, timeline) }

  /// - Parameter firstChoice: The place of the first of the choices that make the order.
  func begin(_ firstChoice: Int) {
    self.firstChoice = firstChoice
    hostCount = agenda.hosts.count
    (last, places) = (nil, nil)
  }

  /// Decides the order of all hosts that are present, before one of them is not.
  func decide() {
    if places != nil { return }
    agenda.questions += hostCount
    var order = agenda.hosts[..<hostCount].filter { $0.isPresent || $0 === last }
    timeline.permute(&order, by: firstChoice)
    var decided = [Int](repeating: -1, count: hostCount)
    for (place, host) in order.enumerated() { decided[host.number] = place }
    places = decided
  }

  /// The place of a host; -1 for one that is not in the round.
  private func place(of host: Host) -> Int {
    if host.number >= hostCount { return -1 }
    if places == nil, timeline.seed == nil { return host.number }
    decide()
    return places![host.number]
  }

  /// Takes over hosts: those whose place is over have their turn in the next round.
  func add(_ noted: inout [Host]) {
    if noted.isEmpty { return }
    if noted.count == 1, last == nil {
      rest.append(noted[0])
    } else {
      for host in noted {
        if host !== last, place(of: host) > (last.map(place) ?? -1) { rest.append(host) } else { later.append(host) }
      }
      if rest.count > 1 { rest.sort { place(of: $0) > place(of: $1) } }
    }
    noted.removeAll(keepingCapacity: true)
  }

  func next() -> Host? { rest.popLast() }
  func leave(_ host: Host) { later.append(host) }

  func giveBack(to noted: inout [Host]) {
    if !rest.isEmpty { noted += rest }
    if !later.isEmpty { noted += later }
    rest.removeAll(keepingCapacity: true)
    later.removeAll(keepingCapacity: true)
  }
}

/// The numbers of hosts that other code has woken. Any thread.
final class WokenHosts: Sendable {
  private let numbers = Guarded<[Int]>([])
  /// *atomic* Spares the thread of the simulation the lock.
  private let count = Atomic(0)

  var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

  func add(_ number: Int) {
    numbers.withLock { $0.append(number) }
    count.add(1, ordering: .releasing)
  }

  func take() -> [Int] {
    let taken = numbers.withLock { numbers in
      defer { numbers = [] }
      return numbers
    }
    count.subtract(taken.count, ordering: .relaxed)
    return taken
  }
}
