@testable import Rondo

/// One loop's sleeps in two modes, step by step, with what the kernel, a poster and a host may do between two steps.
///
/// The wake word and the alarm are the loop's own. The kernel's timerfd, its eventfd and the two epoll sets are modelled:
/// both files are watched edge-triggered by both sets, and never read.
struct SleepModel: Hashable {
  /// How a broken loop differs from ours.
  enum Flaw: CaseIterable {
    case none
    /// A look at the kernel between arming and sleeping.
    case looksAfterArming
    /// The alarm does not hear of an edge that was collected.
    case forgetsEdges
    /// Posters may write before the epoll set is chosen.
    case announcesBeforeChoosing
    /// The loop arms before its last look.
    case armsBeforeLooking
  }

  enum Step: Hashable {
    case awake, planned, chosen, announced, asleep, back
  }

  static let lastTime = 3

  let flaw: Flaw
  /// The host sleeps in place of the loop, and may come for nothing.
  let isHosted: Bool

  var word = WakeProtocol()
  var alarm = Alarm()
  var step = Step.awake
  /// The mode whose run sleeps, and the set in which posters find the loop.
  var mode = 0
  var chosenSet = 0
  /// The next timer of each mode; nil when it has fired.
  var dates: [Int?]

  var clock = 0
  var timerSetting: Int?
  var timerHasTicked = false
  var timerEdges = [false, false]
  var wakeEdges = [false, false]

  /// What posters have still to post, and how many have still to write.
  var posts: [WakeProtocol.Bits]
  var writesOwed = 0

  init(
    dates: [Int?], posts: [WakeProtocol.Bits] = [], isHosted: Bool = false, flaw: Flaw = .none
  ) {
    self.dates = dates
    self.posts = posts
    self.isHosted = isHosted
    self.flaw = flaw
  }

  /// What is wrong with a state in which only time and the loop itself could go on.
  var fault: String? {
    guard step == .asleep, writesOwed == 0, !isReadable(chosenSet) else { return nil }
    if let date = dates[mode], date <= clock { return "a date that has come wakes nothing" }
    if word.hasAny([.wake, .stop, .stopRequest]) { return "a post has not woken the loop" }
    return nil
  }

  func successors() -> [SleepModel] {
    var next: [SleepModel] = []
    func add(_ change: (inout SleepModel) -> Void) {
      var state = self
      change(&state)
      next.append(state)
    }
    if clock < Self.lastTime { add { $0.passTime() } }
    if !posts.isEmpty { add { $0.post() } }
    if writesOwed > 0 {
      add { state in
        state.writesOwed -= 1
        state.wakeEdges[state.chosenSet] = true
        state.word.wrote()
      }
    }
    switch step {
    case .awake:
      for mode in dates.indices {
        // A turn that polls looks at the kernel first.
        add {
          $0.mode = mode
          $0.collect()
          $0.plan()
        }
        add {
          $0.mode = mode
          $0.plan()
        }
      }
    case .planned:
      // A spin looks, and so does a guest whose host came.
      add { $0.collect() }
      add { $0.flaw == .announcesBeforeChoosing ? $0.announce() : $0.choose() }
    case .chosen:
      add { $0.flaw == .announcesBeforeChoosing ? $0.arm() : $0.announce() }
    case .announced:
      add { $0.flaw == .announcesBeforeChoosing ? $0.choose() : $0.arm() }
    case .asleep:
      if isReadable(chosenSet) || isHosted {
        add {
          $0.collect()
          $0.step = .back
        }
      }
    case .back:
      add { state in
        state.word.woke(taking: [.mail, .signals, .wake, .stop, .stopRequest, .outside])
        state.step = .awake
      }
    }
    return next
  }

  // MARK: - The loop

  private mutating func plan() {
    if flaw == .armsBeforeLooking { setAlarm() }
    if let date = dates[mode], date <= clock {
      // It fires, and the next turn begins.
      dates[mode] = nil
      step = .awake
    } else {
      step = .planned
    }
  }

  private mutating func choose() {
    chosenSet = mode
    step = .chosen
  }

  private mutating func announce() {
    let action = isHosted ? word.prepareToSleepOutside() : word.prepareToSleep()
    if action == .sleep {
      step = .announced
    } else {
      _ = word.take([.mail, .signals, .wake, .stop, .stopRequest])
      step = .awake
    }
  }

  private mutating func arm() {
    if flaw != .armsBeforeLooking { setAlarm() }
    if flaw == .looksAfterArming { collect() }
    step = .asleep
  }

  private mutating func setAlarm() {
    let date = dates[mode].map { Instant(nanoseconds: Int64($0)) } ?? .distantFuture
    guard alarm.set(date) else { return }
    timerSetting = dates[mode]
    timerHasTicked = false
    tickIfDue()
  }

  /// What a wait in the mode collects: one pass of epoll_wait(2).
  private mutating func collect() {
    if timerEdges[mode], timerHasTicked, flaw != .forgetsEdges { alarm.collected() }
    timerEdges[mode] = false
    wakeEdges[mode] = false
  }

  // MARK: - The kernel, the clock and a poster

  private func isReadable(_ set: Int) -> Bool {
    wakeEdges[set] || (timerEdges[set] && timerHasTicked)
  }

  private mutating func passTime() {
    clock += 1
    tickIfDue()
  }

  private mutating func tickIfDue() {
    guard let setting = timerSetting, setting <= clock else { return }
    timerSetting = nil
    timerHasTicked = true
    timerEdges = [true, true]
  }

  private mutating func post() {
    if word.post(posts.removeFirst()) == .write { writesOwed += 1 }
  }
}
