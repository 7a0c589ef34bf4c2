import Rondo
import RondoTesting
import Testing

/// What other threads ask of a loop is done in order, once, and nothing is called before all of it is done.
@Suite struct MailTests {
  @Test func `what a schedule handler does comes after all the mail that was there`() {
    let (isMember, result) = onLoopThread { stage -> (Bool, Loop.RunResult) in
      let loop = stage.loop
      let late = Loop.Source {}
      let extra = Loop.Source {}
      let timer = Loop.Timer(after: .seconds(3600)) { _ in }
      let common = Loop.Source(
        schedule: { loop, mode in
          guard mode == "late" else { return }
          // The removal stands in newer mail than the addition, which is in the lot being applied.
          TestThread { loop.remove(timer, from: "late") }.join()
          loop.add(extra, to: "other")
        }, perform: {})
      stage.own(common)
      stage.own(late)
      loop.add(common, to: .common)
      loop.add(late, to: "late")
      loop.remove(late, from: "late")
      loop.run(for: .zero)
      TestThread {
        loop.addCommonMode("late")
        loop.add(timer, to: "late")
      }.join()
      loop.run(for: .zero)
      loop.remove(common, from: .common)
      loop.checkInvariants()
      return (loop.contains(timer, in: "late"), loop.run(in: "late", for: .zero))
    }
    #expect(!isMember)
    #expect(result == .finished)
  }

  @Test func `a block that dies with an item may add and remove while the loop is not running`() {
    let isMember = onLoopThread { stage -> Bool in
      let loop = stage.loop
      let timer = Loop.Timer(after: .seconds(3600)) { _ in }
      do {
        let keeper = AtDeath {
          loop.remove(timer)
          loop.add(timer, to: "m")
        }
        let source = Loop.Source { _ = keeper }
        loop.add(source)
        TestThread {
          source.invalidate()
          loop.add(timer)
        }.join()
      }
      // The mail invalidates the source, whose closure dies when all of the mail has been applied.
      loop.run(for: .zero)
      loop.checkInvariants()
      return loop.contains(timer, in: "m") && !loop.contains(timer)
    }
    #expect(isMember)
  }

  @Test(arguments: [1_000, 100_000])
  func `changes of one item that another thread makes are one change in the mail`(_ count: Int) {
    let changes = onLoopThread { stage -> Int in
      let loop = stage.loop
      let timer = Loop.Timer(after: .seconds(3600)) { _ in }
      loop.add(timer)
      let other = Loop.Timer(after: .seconds(3600)) { _ in }
      let pipe = stage.pipe()
      let source = stage.descriptor("d", pipe.reader)
      TestThread {
        for number in 0..<count { timer.setFireDate(after: .seconds(number % 7 + 1)) }
        for _ in 0..<count {
          source.disable(.read)
          source.enable(.read)
        }
        for _ in 0..<count {
          loop.add(other)
          loop.remove(other)
        }
      }.join()
      return loop.sizes.mailedChanges
    }
    // One for the date, one for the interest, and one for the membership beside as many blanks as are not swept yet.
    #expect(changes <= 3 + 33)
  }

  @Test func `items that another thread adds in turn join in the order of their last addition`() {
    let trace = onLoopThread { stage -> String in
      let loop = stage.loop
      stage.keepAlive()
      let first = stage.observer(.beforeTimers, in: nil) { _ in stage.note("first") }
      let second = stage.observer(.beforeTimers, in: nil) { _ in stage.note("second") }
      TestThread {
        loop.add(first)
        loop.add(second)
        loop.remove(first)
        loop.add(first)
      }.join()
      loop.run(for: .zero)
      return stage.take()
    }
    #expect(trace == "second first")
  }

  @Test func `a common item whose mode is exchanged by another thread joins what becomes common meanwhile`() {
    let members = onLoopThread { stage -> [Bool] in
      let loop = stage.loop
      stage.keepAlive(in: "m")
      let timer = Loop.Timer(after: .seconds(3600)) { _ in }
      TestThread {
        loop.add(timer, to: .common)
        loop.addCommonMode("m")
        loop.remove(timer)
      }.join()
      loop.run(for: .zero)
      loop.checkInvariants()
      return [loop.contains(timer), loop.contains(timer, in: "m"), loop.contains(timer, in: .common)]
    }
    #expect(members == [false, true, true])
  }

  // MARK: - Letting go

  @Test func `what leaves in an exit observer is let go of when the outermost run returns`() {
    let isGone = onLoopThread { stage -> Bool in
      let loop = stage.loop
      stage.keepAlive()
      weak var witness: AnyObject?
      do {
        let object = AtDeath {}
        witness = object
        let timer = Loop.Timer(after: .seconds(3600)) { _ in _ = object }
        loop.add(timer)
        stage.observer(.exit, repeats: false) { _ in timer.invalidate() }
      }
      loop.run(for: .zero)
      return witness == nil
    }
    #expect(isGone)
  }
}

/// Does something when it dies.
final class AtDeath: @unchecked Sendable {
  private let action: () -> Void

  init(_ action: @escaping () -> Void) {
    self.action = action
  }

  deinit { action() }
}
