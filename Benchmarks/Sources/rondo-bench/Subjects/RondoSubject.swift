import CBench
import Rondo

/// Rondo: the subject the suite is about.
struct RondoSubject: Subject {
  let name = "rondo"
  let summary = "Loop.Source and signal(), Loop.DescriptorSource, Loop.Timer, perform"

  func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
    RondoLoop()
  }

  func runTimer(hitting meter: TickMeter) throws(Refusal) {
    Self.runTimer(hitting: meter, isPrecise: false)
  }

  /// One repeating timer until its grid is used up.
  static func runTimer(hitting meter: TickMeter, isPrecise: Bool) {
    let loop = Loop.current
    let epoch = SuspendingClock().systemEpoch
    let timer = Loop.Timer(
      at: epoch.advanced(by: .nanoseconds(meter.first)), every: .nanoseconds(meter.interval)
    ) { tick in
      let isLast = bench_ticks_hit(meter.pointer)
      if bench_ticks_wants_claim(meter.pointer) {
        let (seconds, attoseconds) = epoch.duration(to: tick.scheduled).components
        bench_ticks_claim(meter.pointer, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
      }
      if isLast { loop.stop() }
    }
    timer.isPrecise = isPrecise
    loop.add(timer)
    loop.run()
    timer.invalidate()
  }
}

extension RondoSubject {
  func openActors() throws(Refusal) -> ActorHost {
    ActorHost(guests: [RondoActor.shared, RondoActor.other], neighbour: RondoActor.neighbour) { count, parking in
      for _ in 0..<count { Task { @RondoActor in await parking.park() } }
    }
  }
}

/// Two threads with a loop each; the first is the global actor's.
@globalActor
private enum RondoActor {
  static let threads = (0..<2).map { number in try! Rondo.LoopThread(name: "rondo \(number)") }
  static let shared = HostedGuest(threads[0].loop)
  static let other = HostedGuest(threads[1].loop)
  static let neighbour = HostedGuest(threads[0].loop)
}

final class RondoLoop: BenchLoop {
  private let loop = Loop.current
  private static let modes = [Loop.Mode("one"), Loop.Mode("two")]

  /// Why it is given no items that differ in nothing from rondo's; nil for rondo itself.
  private let refusal: Refusal?

  init() { refusal = nil }

  /// For a variant that differs in its wakeups alone.
  init(busyPollBudget: Duration) {
    refusal = .cannot("differs from rondo in its wakeups alone")
    loop.busyPollBudget = busyPollBudget
  }

  func run() { loop.run() }
  func stop() { loop.stop() }
  func poll() { loop.run(for: .zero) }

  func addWake(_ call: Call) throws(Refusal) -> any Wake {
    let source = Loop.Source { [call] in call() }
    loop.add(source)
    return RondoWake(source)
  }

  func addSignal(_ call: Call) throws(Refusal) -> any Member {
    if let refusal { throw refusal }
    let member = SignalledSource(call)
    loop.add(member.source)
    member.source.signal()
    return member
  }

  func addWatch(_ descriptor: CInt, _ call: Call) throws(Refusal) -> any Member {
    if let refusal { throw refusal }
    do throws(Loop.DescriptorError) {
      let source = try Loop.DescriptorSource(descriptor, for: .read) { [call] _, _ in call() }
      loop.add(source)
      return RondoMember(item: source)
    } catch {
      throw .failed("\(error)")
    }
  }

  func addObserver(_ call: Call) throws(Refusal) -> any Member {
    if let refusal { throw refusal }
    let observer = Loop.Observer(.beforeWaiting) { [call] _ in call() }
    loop.add(observer)
    return RondoMember(item: observer)
  }

  func post(_ count: Int, _ work: Work) {
    for _ in 0..<count { loop.perform { work() } }
  }

  func addShots(_ dues: [Int64], _ call: Call) throws(Refusal) -> any ShotBank {
    if let refusal { throw refusal }
    let epoch = SuspendingClock().systemEpoch
    return RondoShots(
      timers: dues.map { due in
        let timer = Loop.Timer(at: epoch.advanced(by: .nanoseconds(due))) { [call] _ in call() }
        loop.add(timer)
        return timer
      })
  }

  func makeTimers(_ count: Int, _ call: Call) throws(Refusal) -> any TimerBank {
    if let refusal { throw refusal }
    return RondoTimers(
      timers: (0..<count).map { _ in
        let timer = Loop.Timer(every: RondoTimers.never) { [call] _ in call() }
        loop.add(timer)
        return timer
      })
  }

  func addRepeats(
    _ dues: [Int64], every interval: Int64, tolerance: Int64, _ call: Call
  ) throws(Refusal) -> any Member {
    let epoch = SuspendingClock().systemEpoch
    return RondoMembers(
      items: dues.map { due in
        let timer = Loop.Timer(
          at: epoch.advanced(by: .nanoseconds(due)), every: .nanoseconds(interval), tolerance: .nanoseconds(tolerance)
        ) { [call] _ in call() }
        loop.add(timer)
        return timer
      })
  }

  func fillModes(_ count: Int) throws(Refusal) {
    if let refusal { throw refusal }
    for mode in Self.modes {
      for _ in 0..<(count / 2) {
        loop.add(Loop.Source {}, to: mode)
        loop.add(Loop.Timer(after: .seconds(3600)) { _ in }, to: mode)
      }
    }
  }

  func poll(inMode index: Int) { loop.run(in: Self.modes[index], for: .zero) }
}

private struct RondoMember: Member {
  let item: Loop.Item

  func remove() { item.invalidate() }
}

private struct RondoMembers: Member {
  let items: [Loop.Item]

  func remove() { for item in items { item.invalidate() } }
}

private final class RondoWake: Wake {
  private let source: Loop.Source

  init(_ source: Loop.Source) {
    self.source = source
  }

  func send() { source.signal() }
  func remove() { source.invalidate() }
}

/// A source that signals itself again whenever it is performed.
///
/// Its handler keeps it until it is removed, and captures nothing else. Sendable because it belongs to the loop's thread.
private final class SignalledSource: Member, @unchecked Sendable {
  private(set) var source: Loop.Source!
  private let call: Call

  init(_ call: Call) {
    self.call = call
    source = Loop.Source { [self] in perform() }
  }

  private func perform() {
    source.signal()
    call()
  }

  func remove() { source.invalidate() }
}

/// The bank's references are the last ones.
private struct RondoShots: ShotBank {
  var timers: [Loop.Timer?]

  mutating func cancel(_ order: [Int]) {
    for index in order {
      timers[index]?.invalidate()
      timers[index] = nil
    }
  }

  mutating func free() { timers = [] }
}

/// Timers that repeat in decades, and are set to a date before that.
private struct RondoTimers: TimerBank {
  static let never = Duration.seconds(1_000_000_000)

  let epoch = SuspendingClock().systemEpoch
  let timers: [Loop.Timer]

  func start(_ dues: [Int64]) {
    for (timer, due) in zip(timers, dues) { timer.fireDate = epoch.advanced(by: .nanoseconds(due)) }
  }

  func stop(_ order: [Int]) {
    for index in order { timers[index].fireDate = epoch.advanced(by: Self.never) }
  }

  func free() {
    for timer in timers { timer.invalidate() }
  }
}
