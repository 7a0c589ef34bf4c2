import RondoTesting
import Testing

@testable import Rondo

/// Blocks wait in groups by their modes, and run in the order in which they were posted.
@Suite struct BlockQueueTests {
  /// The calls of a queue, as the numbers that they note.
  private func numbers(_ calls: [() -> Void], _ noted: Later<[Int]>) -> [Int] {
    noted.value = []
    for call in calls { call() }
    return noted.value
  }

  @Test(arguments: UInt64(1)...20)
  func `random posts for random modes are taken in the order of a plain list`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let modes = (0..<4).map { ModeState(index: $0, name: Loop.Mode("mode \($0)"), isCommon: $0 < 2, own: 0) }
    let noted = Later<[Int]>([])
    var queue = BlockQueue()
    var list: [(number: Int, modes: ModeSet)] = []
    var number = 0

    func post() {
      // Mostly for one set of modes, as programs do.
      let set =
        Int.random(in: 0..<6, using: &random) < 4
        ? ModeSet.default
        : ModeSet(modes: UInt64.random(in: 0..<16, using: &random), isCommon: Bool.random(using: &random))
      var posted = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        defer { number += 1 }
        list.append((number, set))
        return Block({ [number] in noted.value.append(number) }, modes: set)
      }
      queue.append(taking: &posted)
      #expect(posted.isEmpty)
    }

    /// Takes the blocks of a mode one after the other, as a drain does; some of them post, or drain a mode themselves.
    ///
    /// - Parameter held: Blocks with a lower number are an outer drain's.
    func drain(from held: Int, depth: Int = 0) {
      let mode = modes.randomElement(using: &random)!
      let end = number
      func isMine(_ entry: (number: Int, modes: ModeSet)) -> Bool {
        entry.number >= held && entry.number < end && entry.modes.contains(mode)
      }
      #expect(queue.contains(for: mode) == list.contains { $0.number >= held && $0.modes.contains(mode) })
      #expect(queue.contains(for: mode, held: true) == list.contains { $0.modes.contains(mode) })
      if queue.isPlain {
        var taken: [Block] = []
        queue.takePlain(for: mode, into: &taken)
        #expect(numbers(taken.map(\.call), noted) == list.filter(isMine).map(\.number))
        return list.removeAll(where: isMine)
      }
      var drained = queue.beginDrain()
      while let call = queue.take(&drained, for: mode) {
        #expect(numbers([call], noted) == list.first(where: isMine).map { [$0.number] } ?? [])
        if let next = list.firstIndex(where: isMine) { list.remove(at: next) }
        if depth < 3, Int.random(in: 0..<4, using: &random) == 0 { post() }
        if depth < 3, Int.random(in: 0..<6, using: &random) == 0 { drain(from: end, depth: depth + 1) }
      }
      queue.endDrain(drained)
      #expect(!list.contains(where: isMine))
    }

    for _ in 0..<250 {
      if Int.random(in: 0..<4, using: &random) == 0 { drain(from: 0) } else { post() }
      #expect(queue.count == list.count)
      #expect(queue.isEmpty == list.isEmpty)
    }
    #expect(numbers(queue.takeAll(), noted) == list.map(\.number))
    #expect(queue.isEmpty && queue.isPlain)
  }

  /// A turn that walked over them would take milliseconds, and this test minutes.
  @Test func `a hundred thousand blocks of a mode that is not run cost other modes nothing`() {
    withStage(isObserved: false) { stage in
      for _ in 0..<100_000 { stage.loop.perform(in: "other", waking: false) {} }
      stage.keepAlive()
      let count = Later(0)
      for _ in 0..<20_000 {
        stage.loop.perform { count.value += 1 }
        stage.loop.run(for: .zero)
      }
      #expect(count.value == 20_000)
      stage.loop.run(in: "other", for: .zero)
      #expect(stage.loop.statistics.blockCallouts == 120_000)
    }
  }

  @Test func `later blocks of the common modes take part once a block makes the mode common`() {
    withStage(isObserved: false) { stage in
      stage.block("c1", in: .common)
      stage.block("m1", in: "m") { stage.loop.addCommonMode("m") }
      stage.block("d", in: .default)
      stage.block("c2", in: .common)
      stage.block("m2", in: "m")
      stage.block("c3", in: .common)
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "m1 c2 m2 c3 c1")
    }
  }

  @Test func `a run nested in a block finds none that was posted before it, in whatever mode`() {
    withStage(isObserved: false) { stage in
      stage.block("m1", in: "m")
      stage.block("d") {
        stage.block("m2", in: "m")
        stage.loop.run(in: "m", for: .zero)
        stage.note("end")
      }
      stage.block("m3", in: "m")
      stage.loop.run(for: .zero)
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "d m2 end m1 m3")
    }
  }

  @Test func `a run nested in the last block of several modes finds what another thread posted since`() {
    withStage(isObserved: false) { stage in
      stage.loop.perform(in: [.default, "m"]) {
        stage.note("outer")
        TestThread { stage.block("posted since") }.join()
        stage.loop.run(for: .zero)
        stage.note("end")
      }
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "outer posted since end")
    }
  }

  @Test func `a block that waits while another runs the loop in a third mode is run in its own`() {
    withStage(isObserved: false) { stage in
      let source = Loop.Source {
        stage.block("d") {
          stage.block("n", in: "n")
          stage.loop.run(in: "n", for: .zero)
        }
        stage.block("m", in: "m")
      }
      stage.loop.add(source)
      source.signal()
      stage.loop.run(for: .zero)
      stage.loop.checkInvariants()
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "d n m")
      source.invalidate()
    }
  }
}
