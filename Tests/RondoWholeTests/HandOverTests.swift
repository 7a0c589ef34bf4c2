import Glibc
import Rondo
import Testing

extension StressTests {
  /// Items handed from one running loop to another, again and again: none is lost on the way, none called twice.
  @Suite struct HandOverTests {
    @Test(arguments: Traveller.Kind.allCases, [2, 3])
    func `an item for which running loops compete is always somewhere, and still called in the end`(
      _ kind: Traveller.Kind, _ count: Int
    ) {
      let rounds = HandOvers.count
      let traveller = Traveller(kind)
      let running = (0..<count).map { _ in RunningLoop() }
      let turns = SharedNumber()
      let strays = SharedNumber()
      for member in running {
        let loop = member.loop
        // Each loop takes the item as soon as another has let go, and lets go at once.
        hand(loop) {
          guard turns.value < rounds else { return false }
          if loop.add(traveller.item) {
            turns.add()
            if !loop.contains(traveller.item) && kind != .source { strays.add() }
            loop.remove(traveller.item)
          }
          return true
        }
      }
      #expect(reaches(turns, rounds))
      for member in running { member.settle() }
      #expect(strays.value == 0)
      #expect(traveller.calls.value == 0)
      for (number, member) in running.enumerated() {
        #expect(member.loop.add(traveller.item))
        traveller.call(member.loop)
        #expect(reaches(traveller.calls, number + 1))
        member.loop.remove(traveller.item)
        member.settle()
      }
      #expect(traveller.calls.value == count)
      for member in running { member.end() }
      traveller.end()
    }

    @Test(arguments: Traveller.Kind.allCases, [2, 3])
    func `an item that another thread passes from loop to loop is called once in each`(
      _ kind: Traveller.Kind, _ count: Int
    ) {
      let rounds = HandOvers.count / 4
      let traveller = Traveller(kind)
      let running = (0..<count).map { _ in RunningLoop() }
      var arrived = 0
      for round in 0..<rounds {
        let loop = running[round % count].loop
        guard succeeds({ loop.add(traveller.item) }) else { break }
        traveller.call(loop)
        guard reaches(traveller.calls, round + 1) else { break }
        loop.remove(traveller.item)
        arrived += 1
      }
      #expect(arrived == rounds)
      for member in running { member.settle() }
      #expect(traveller.calls.value == rounds)
      for member in running { member.end() }
      traveller.end()
    }

    @Test(arguments: Traveller.Kind.allCases, [2, 3])
    func `an item that moves on in each of its callouts is called as often as it was asked to`(
      _ kind: Traveller.Kind, _ count: Int
    ) {
      let rounds = HandOvers.count
      let running = (0..<count).map { _ in RunningLoop() }
      let loops = running.map(\.loop)
      let place = SharedNumber()
      let refusals = SharedNumber()
      let box = LoopVariable<Traveller?>(nil)
      let traveller = Traveller(kind) { item in
        let old = place.value
        let next = (old + 1) % count
        guard let traveller = box.value, traveller.calls.value < rounds else { return }
        place.set(next)
        loops[old].remove(item)
        if !loops[next].add(item) { refusals.add() }
        traveller.call(loops[next])
      }
      box.value = traveller
      loops[0].add(traveller.item)
      traveller.call(loops[0])
      #expect(reaches(traveller.calls, rounds))
      for member in running { member.settle() }
      #expect(traveller.calls.value == rounds)
      #expect(refusals.value == 0)
      for member in running { member.end() }
      traveller.end()
      box.value = nil
    }

    @Test(arguments: [Duration.zero, .microseconds(1)], [2, 3])
    func `a repeating timer that moves on in each fire fires for each point of its grid at most once`(
      _ tolerance: Duration, _ count: Int
    ) {
      let rounds = HandOvers.count
      let running = (0..<count).map { _ in RunningLoop() }
      let loops = running.map(\.loop)
      let fires = SharedNumber()
      let wrong = SharedNumber()
      let last = LoopVariable<SuspendingClock.Instant?>(nil)
      let timer = Loop.Timer(every: .microseconds(2), tolerance: tolerance) { tick in
        let number = fires.value
        guard number < rounds else { return }
        if let last = last.value, tick.scheduled <= last { wrong.add() }
        if tick.actual < tick.scheduled { wrong.add() }
        last.value = tick.scheduled
        fires.add()
        // Now it may be invalidated, which would have the next loop refuse it.
        if number + 1 == rounds { return }
        loops[number % count].remove(tick.timer)
        // The last thing it does: from here on the next loop may call it.
        if !loops[(number + 1) % count].add(tick.timer) { wrong.add() }
      }
      loops[0].add(timer)
      #expect(reaches(fires, rounds))
      timer.invalidate()
      for member in running { member.settle() }
      for member in running { member.end() }
      #expect(wrong.value == 0)
      #expect(fires.value == rounds)
    }

    @Test func `many items of every kind that all move at once arrive and are called as often as they were asked to`() {
      let rounds = HandOvers.count / 20
      let running = (0..<3).map { _ in RunningLoop() }
      let loops = running.map(\.loop)
      let travellers = (0..<30).map { number in
        let box = LoopVariable<Traveller?>(nil)
        let place = SharedNumber(number % 3)
        let traveller = Traveller(Traveller.Kind.allCases[number % Traveller.Kind.allCases.count]) { item in
          guard let traveller = box.value, traveller.calls.value < rounds else { return }
          let old = place.value
          let next = (old + 1 + traveller.calls.value % 2) % 3
          place.set(next)
          loops[old].remove(item)
          loops[next].add(item)
          traveller.call(loops[next])
        }
        box.value = traveller
        loops[number % 3].add(traveller.item)
        traveller.call(loops[number % 3])
        return (traveller, box)
      }
      for (traveller, _) in travellers { #expect(reaches(traveller.calls, rounds)) }
      for member in running { member.settle() }
      #expect(travellers.map(\.0.calls.value) == [Int](repeating: rounds, count: travellers.count))
      for member in running { member.end() }
      for (traveller, box) in travellers {
        traveller.end()
        box.value = nil
      }
    }

    @Test(arguments: Traveller.Kind.allCases)
    func `an item that several threads take out and put in at once is in one loop, and free when it has left`(
      _ kind: Traveller.Kind
    ) {
      let rounds = HandOvers.count / 4
      let traveller = Traveller(kind)
      let running = (0..<2).map { _ in RunningLoop { _ in } }
      let loops = running.map(\.loop)
      let turns = SharedNumber()
      for (number, loop) in loops.enumerated() {
        hand(loop) {
          guard turns.value < rounds else { return false }
          if loop.add(traveller.item, to: number == 0 ? .default : "x") { turns.add() }
          loop.remove(traveller.item)
          loop.remove(traveller.item, from: "x")
          return true
        }
      }
      TestThread.race(2) { number in
        var round = number
        while turns.value < rounds {
          round += 1
          let loop = loops[round % 2]
          loop.add(traveller.item, to: round % 3 == 0 ? .default : "x")
          loop.remove(traveller.item, from: round % 5 == 0 ? .default : "x")
          loop.remove(traveller.item)
        }
      }
      for member in running { member.settle() }
      for loop in loops { for mode in [.default, "x"] as [Loop.Mode] { loop.remove(traveller.item, from: mode) } }
      for member in running { member.settle() }
      var calls = 0
      for member in running {
        let isIntact = SharedNumber()
        member.loop.perform {
          Loop.current.checkInvariants()
          isIntact.set(1)
        }
        #expect(reaches(isIntact, 1))
        #expect(member.loop.add(traveller.item))
        calls = traveller.calls.value
        traveller.call(member.loop)
        #expect(reaches(traveller.calls, calls + 1))
        member.loop.remove(traveller.item)
        member.settle()
      }
      for member in running { member.end() }
      traveller.end()
    }

    @Test func `a source that is taken out on one thread and invalidated on another closes its descriptor`() {
      let rounds = HandOvers.count / 10
      let running = RunningLoop()
      let loop = running.loop
      var closed = 0
      for round in 0..<rounds {
        var ends: [CInt] = [0, 0]
        guard unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0,
          let source = try? Loop.DescriptorSource(ends[0], for: .read, closesOnInvalidation: true, handler: { _, _ in })
        else { continue }
        let isGone = SharedNumber()
        if round % 3 != 0 { loop.add(source) }
        loop.perform {
          if round % 3 == 0 { loop.add(source) }
          loop.remove(source)
          isGone.set(1)
        }
        if round % 2 == 0 { spin { isGone.value == 1 || loop.contains(source) } }
        source.invalidate()
        spin { isGone.value == 1 }
        running.settle()
        if isFarEndClosed(ends[1]) { closed += 1 }
        close(ends[1])
      }
      running.end()
      #expect(closed == rounds)
    }

    /// Has the loop do something in one block after the other, until it is false.
    private func hand(_ loop: Loop, _ step: @escaping @Sendable () -> Bool) {
      loop.perform {
        for _ in 0..<100 { if !step() { return } }
        self.hand(loop, step)
      }
    }
  }
}
