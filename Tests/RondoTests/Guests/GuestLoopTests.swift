import Glibc
import Rondo
import RondoGuests
import RondoTestSupport
import RondoTesting
import Testing

/// Foreign loops as guests of ours: a descriptor, a timeout and a dispatch.
@Suite struct GuestLoopTests {
  // MARK: - Time

  @Test func `a guest is dispatched when it has waited for as long as it said`() {
    withStage { stage in
      let guest = TimedGuest(stage, [.milliseconds(10), .milliseconds(30)])
      stage.loop.add(guest.item)
      #expect(stage.loop.run(for: .milliseconds(50)) == .timedOut)
      #expect(guest.dispatches == [10, 30])
      #expect(stage.virtual.sleeps == 3)
    }
  }

  @Test func `a guest that waits for nothing, or for ever, is left alone`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [])
      stage.loop.add(guest.item)
      guest.whenDone = .nothing
      stage.loop.run(for: .milliseconds(10))
      guest.whenDone = .forever
      stage.loop.run(for: .milliseconds(10))
      #expect(guest.dispatches == [])
      #expect(stage.virtual.sleeps == 2)
    }
  }

  @Test func `a guest that has something to do keeps the loop from sleeping`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [.zero, .zero, .zero, .milliseconds(5)])
      stage.loop.add(guest.item)
      stage.loop.run(for: .milliseconds(10))
      #expect(guest.dispatches == [0, 0, 0, 5])
      #expect(stage.virtual.sleeps == 2)
    }
  }

  @Test func `a guest is asked once a turn, after the other observers`() {
    withStage { stage in
      let guest = TimedGuest(stage, [.milliseconds(10)])
      guest.whenAsked = { stage.note("asked") }
      stage.loop.add(guest.item)
      stage.observer(.beforeWaiting, order: 1000) { _ in stage.note("last") }
      stage.timer("timer", after: .milliseconds(5))
      _ = stage.take()
      stage.loop.run(for: .milliseconds(7))
      #expect(stage.text == "E BT BS BW last asked AW timer BT BS BW last asked AW X")
    }
  }

  @Test func `what a callout sets in the guest counts for the sleep that follows`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [])
      stage.loop.add(guest.item)
      stage.timer("timer", after: .milliseconds(5)) { _ in guest.add(.milliseconds(9)) }
      stage.observer(.beforeWaiting, repeats: false) { _ in guest.add(.milliseconds(2)) }
      stage.loop.run(for: .milliseconds(20))
      #expect(guest.dispatches == [2, 9])
    }
  }

  @Test func `runs that only look serve a guest`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [.milliseconds(2)])
      stage.loop.add(guest.item)
      for _ in 0..<5 {
        stage.loop.run(for: .zero)
        stage.virtual.spend(.milliseconds(1))
      }
      #expect(guest.dispatches == [2])
    }
  }

  @Test func `a loop that never sleeps serves a guest`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [])
      stage.loop.add(guest.item)
      let later = Later<Loop.Source>()
      let turns = Tally()
      let busy = stage.source("") {
        turns.add()
        if turns.count == 10 { guest.add(.milliseconds(12)) }
        stage.virtual.spend(.milliseconds(1))
        later.value.signal()
      }
      later.value = busy
      busy.signal()
      stage.loop.run(for: .milliseconds(20))
      #expect(guest.dispatches == [12])
      #expect(stage.virtual.sleeps == 0)
    }
  }

  @Test func `a date that comes out later by what is rounded costs no new one`() {
    withStage(isObserved: false) { stage in
      // Whole milliseconds, rounded up, as libraries count them.
      let guest = TimedGuest(stage, [.milliseconds(10)])
      guest.rounding = .milliseconds(1)
      stage.loop.add(guest.item)
      var dates: [SuspendingClock.Instant] = []
      for _ in 0..<20 {
        stage.loop.run(for: .microseconds(400))
        if let date = stage.loop.nextFireDate() { dates.append(date) }
      }
      #expect(dates == dates.sorted(by: >) && Set(dates).count == 1)
      stage.loop.run(for: .milliseconds(5))
      #expect(guest.dispatches == [10])
    }
  }

  // MARK: - Membership

  @Test func `a guest is served in its modes, and in no other`() {
    withStage(isObserved: false) { stage in
      let (here, there, everywhere) = (
        TimedGuest(stage, [.milliseconds(1)]), TimedGuest(stage, [.milliseconds(2)]),
        TimedGuest(stage, [.milliseconds(3)])
      )
      stage.loop.addCommonMode("there")
      stage.loop.add(here.item)
      stage.loop.add(there.item, to: "there")
      stage.loop.add(everywhere.item, to: .common)
      #expect(stage.loop.contains(everywhere.item, in: .common) && stage.loop.contains(everywhere.item, in: "there"))
      #expect(!stage.loop.contains(here.item, in: "there"))
      stage.loop.run(in: "there", for: .milliseconds(10))
      #expect(here.dispatches == [] && there.dispatches == [2] && everywhere.dispatches == [3])
      stage.loop.run(for: .milliseconds(10))
      #expect(here.dispatches == [10])
      stage.loop.remove(everywhere.item, from: .common)
      everywhere.add(.milliseconds(30))
      stage.loop.run(for: .milliseconds(20))
      #expect(everywhere.dispatches == [3])
    }
  }

  @Test func `a mode with a guest is not empty, and one that has lost it is`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [.milliseconds(5)])
      #expect(stage.loop.run() == .finished)
      stage.loop.add(guest.item)
      guest.whenDispatched = { [unowned guest] in guest.item.invalidate() }
      #expect(stage.loop.run() == .finished)
      #expect(guest.dispatches == [5] && !guest.item.isValid && guest.item.invalidationReason == nil)
      #expect(!stage.loop.add(guest.item))
    }
  }

  @Test func `a guest is in one loop`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [])
      stage.loop.add(guest.item)
      withStage(isObserved: false) { other in
        #expect(!other.loop.add(guest.item))
        #expect(!other.loop.contains(guest.item))
      }
    }
  }

  @Test func `two guests of one loop do not disturb each other`() {
    onLoopThread { stage in
      let (first, second) = (PipeGuest(stage, "first"), PipeGuest(stage, "second"))
      stage.loop.add(first.item)
      stage.loop.add(second.item, to: .common)
      first.pipe.write(1)
      #expect(stage.loop.run(for: .seconds(60), returnAfterSourceHandled: true) == .handledSource)
      second.pipe.write(1)
      #expect(stage.loop.run(for: .seconds(60), returnAfterSourceHandled: true) == .handledSource)
      #expect(stage.text == "first second")
    }
  }

  // MARK: - Descriptors

  @Test func `a guest is dispatched when its descriptor is ready, and the loop sleeps until then`() {
    onLoopThread { stage in
      let guest = PipeGuest(stage, "guest")
      stage.loop.add(guest.item)
      stage.timer("timer", after: .milliseconds(20)) { _ in guest.pipe.write(1) }
      guest.whenDispatched = { stage.loop.stop() }
      let before = stage.loop.statistics
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "timer guest")
      #expect(stage.loop.statistics.sleeps - before.sleeps <= 3)
    }
  }

  @Test func `a guest that waits for nothing is deaf until it says otherwise`() {
    onLoopThread { stage in
      let guest = PipeGuest(stage, "guest")
      guest.answer = .nothing
      guest.pipe.write(1)
      stage.loop.add(guest.item)
      stage.loop.run(for: .milliseconds(20))
      #expect(stage.text == "" && stage.loop.statistics.turns <= 2)
      guest.answer = .forever
      guest.whenDispatched = { stage.loop.stop() }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == "guest")
    }
  }

  @Test func `a guest whose descriptor is closed behind the loop's back is over, and says why`() {
    onLoopThread { stage in
      let guest = PipeGuest(stage, "guest")
      stage.loop.add(guest.item)
      guest.pipe.replaceReader(with: nil)
      #expect(stage.loop.run(for: .seconds(60)) == .finished)
      #expect(!guest.item.isValid && guest.item.invalidationReason == .descriptorClosed)
    }
  }

  @Test func `says what is wrong with a descriptor`() {
    #expect(throws: Loop.DescriptorError.notOpen(-1)) {
      try Loop.GuestLoop(descriptor: -1, wait: { .forever }, dispatch: {})
    }
  }

  @Test func `a guest of an embedded loop is served by its host`() {
    onLoopThread { stage in
      let guest = PipeGuest(stage, "guest")
      let embedding = Loop.Embedding(of: stage.loop)
      stage.loop.add(guest.item)
      while isReadable(embedding.descriptor, for: 0) { embedding.turn() }
      guest.pipe.write(1)
      #expect(isReadable(embedding.descriptor, for: 60_000))
      embedding.turn()
      #expect(stage.text == "guest")
      guest.answer = .atMost(.milliseconds(5))
      stage.loop.wakeUp()
      while stage.text == "guest" {
        #expect(isReadable(embedding.descriptor, for: 60_000))
        embedding.turn()
      }
      #expect(stage.text == "guest guest")
      guest.item.invalidate()
      while isReadable(embedding.descriptor, for: 0) { embedding.turn() }
      embedding.end()
    }
  }

  // MARK: - Nesting

  @Test(arguments: [false, true]) func `a run nested in a dispatch dispatches the guest again if it can be`(
    isReentrant: Bool
  ) {
    onLoopThread { stage in
      let guest = PipeGuest(stage, "guest", isReentrant: isReentrant)
      stage.loop.add(guest.item)
      guest.pipe.write(1)
      var isNested = false
      guest.whenDispatched = { [unowned guest] in
        if isNested { return stage.loop.stop() }
        isNested = true
        guest.pipe.write(1)
        // Its time would have it dispatched a second time in a turn that a slow machine begins late.
        guest.answer = isReentrant ? .forever : .atMost(.milliseconds(1))
        let turns = stage.loop.statistics.turns
        if !isReentrant { stage.timer("own", after: .milliseconds(5)) }
        let result = stage.loop.run(for: .milliseconds(isReentrant ? 60_000 : 20))
        #expect(result == (isReentrant ? .stopped : .timedOut))
        #expect(stage.loop.statistics.turns - turns <= 10)
        // Its descriptor alone has it dispatched from here on, and so once.
        guest.answer = .forever
        stage.note("back")
        if isReentrant { stage.loop.stop() }
      }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(stage.text == (isReentrant ? "guest guest back" : "guest own back guest"))
    }
  }

  @Test func `a re-entrant guest is dispatched when its time is over inside a dispatch of that kind`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [.milliseconds(5), .milliseconds(10), .milliseconds(15)], isReentrant: true)
      stage.loop.add(guest.item)
      guest.whenDispatched = { [unowned guest] in
        if guest.dispatches.count < 3 { stage.loop.run(for: .milliseconds(20)) }
      }
      stage.loop.run(for: .milliseconds(50))
      #expect(guest.dispatches == [5, 10, 15])
      #expect(stage.milliseconds == 50)
    }
  }

  @Test(arguments: [false, true]) func `a guest may be invalidated in its own dispatch, and in a run nested there`(
    isNested: Bool
  ) {
    onLoopThread { stage in
      let guest = PipeGuest(stage, "guest", isReentrant: true)
      stage.loop.add(guest.item)
      guest.pipe.write(1)
      guest.whenDispatched = { [unowned guest] in
        if isNested {
          stage.block("block") { guest.item.invalidate() }
          guest.answer = .atMost(.zero)
          stage.loop.run(for: .milliseconds(5))
        } else {
          guest.item.invalidate()
        }
        guest.pipe.write(1)
      }
      #expect(stage.loop.run(for: .seconds(60)) == .finished)
      #expect(stage.text.hasPrefix("guest") && !guest.item.isValid)
    }
  }

  @Test func `a guest may be invalidated when it is asked`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [.milliseconds(5)])
      guest.whenAsked = { [unowned guest] in guest.item.invalidate() }
      stage.loop.add(guest.item)
      #expect(stage.loop.run(for: .milliseconds(10)) == .finished)
      #expect(guest.dispatches == [])
    }
  }

  // MARK: - Life

  private final class Owned: Sendable {}

  @Test(arguments: ["unused", "removed", "invalidated", "ended"]) func `lets go of what its closures captured`(
    _ fate: String
  ) {
    weak var owned: Owned?
    nonisolated(unsafe) var kept: Loop.GuestLoop?
    withStage(isObserved: false) { stage in
      let made = Owned()
      owned = made
      let guest = try! Loop.GuestLoop(
        descriptor: UnconnectedSocket.shared,
        wait: {
          _ = made
          return .atMost(.milliseconds(1))
        }, dispatch: { _ = made })
      if fate == "unused" { return }
      stage.loop.add(guest, to: .common)
      stage.loop.run(for: .milliseconds(5))
      switch fate {
      case "removed": stage.loop.remove(guest, from: .common)
      case "invalidated":
        unsafe kept = guest
        guest.invalidate()
      default: break
      }
    }
    #expect(owned == nil)
    _ = unsafe kept
  }

  @Test func `a guest stays in its loop when the last reference to it is gone`() {
    withStage(isObserved: false) { stage in
      let guest = TimedGuest(stage, [.milliseconds(5)])
      stage.loop.add(guest.item)
      guest.item = nil
      stage.loop.run(for: .milliseconds(10))
      #expect(guest.dispatches == [5])
    }
  }

  @Test(.offThePool, arguments: [false, true]) func `says on which thread it belongs`(isAdding: Bool) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [isAdding] in
      misuse(isAdding: isAdding)
    }
    let complaint = isAdding ? "and so do its guests." : "This guest's loop belongs to"
    #expect(result?.complaint.contains(complaint) == true)
  }
}

private func misuse(isAdding: Bool) {
  let loop = Loop.current
  nonisolated(unsafe) let guest = try! Loop.GuestLoop(
    descriptor: UnconnectedSocket.shared, wait: { .forever }, dispatch: {})
  if !isAdding { unsafe loop.add(guest) }
  TestThread {
    if isAdding { unsafe loop.add(guest) } else { unsafe guest.invalidate() }
  }.join()
}

private func isReadable(_ descriptor: CInt, for milliseconds: CInt) -> Bool {
  var query = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return unsafe poll(&query, 1, milliseconds) == 1
}

/// A guest that waits by virtual dates, counted from when its stage was set.
private final class TimedGuest: @unchecked Sendable {
  var item: Loop.GuestLoop!
  /// The virtual milliseconds of the dispatches that had something to do.
  private(set) var dispatches: [Int64] = []
  var whenDone = Loop.GuestLoop.Wait.forever
  var whenAsked = {}
  var whenDispatched = {}
  /// What it waits is a multiple of this, rounded up.
  var rounding = Duration.nanoseconds(1)
  private var dates: [Duration]

  init(_ stage: VirtualStage, _ dates: [Duration], isReentrant: Bool = false) {
    self.dates = dates
    item = try! Loop.GuestLoop(
      descriptor: UnconnectedSocket.shared, isReentrant: isReentrant,
      wait: { [unowned self] in
        whenAsked()
        guard let date = self.dates.first else { return whenDone }
        let left = max(.zero, date - stage.virtual.elapsed)
        return .atMost(rounding * Int((left / rounding).rounded(.up)))
      },
      dispatch: { [unowned self] in
        guard let date = self.dates.first, date <= stage.virtual.elapsed else { return }
        self.dates.removeFirst()
        dispatches.append(stage.milliseconds)
        stage.note("dispatch")
        whenDispatched()
      })
  }

  func add(_ date: Duration) {
    dates.append(date)
    dates.sort()
  }
}

/// A guest that waits by a pipe, and notes its name for each byte.
private final class PipeGuest: @unchecked Sendable {
  private(set) var item: Loop.GuestLoop!
  let pipe: TestPipe
  var answer = Loop.GuestLoop.Wait.forever
  var whenDispatched = {}

  init(_ stage: Stage, _ name: String, isReentrant: Bool = false) {
    pipe = stage.pipe()
    item = try! Loop.GuestLoop(
      descriptor: pipe.reader, isReentrant: isReentrant, wait: { [unowned self] in answer },
      dispatch: { [unowned self] in
        pipe.drain()
        stage.note(name)
        answer = .forever
        whenDispatched()
      })
  }
}
