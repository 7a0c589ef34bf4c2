/// One description of what a loop is given and what happens to it, free of any loop's types.
///
/// The same value drives the real CFRunLoop and Rondo; what both wrote down is compared.
package struct Scenario: Sendable, Equatable {
  /// Created in this order before anything else happens; timers count from that moment.
  package var items: [Item]
  /// What the loop's thread does: preparations and runs, in order.
  package var steps: [Action]
  /// What callouts do besides being recorded.
  package var scripts: [Script]
  /// What a helper thread does, timed from just before the first run.
  package var helper: [Timed]

  package init(_ items: [Item], _ steps: [Action], on scripts: [Script] = [], helper: [Timed] = []) {
    self.items = items
    self.steps = steps
    self.scripts = scripts
    self.helper = helper
  }

  package struct Item: Sendable, Equatable {
    package var name: String
    package var kind: Kind
    /// Joined in this order before the first step; `C` is the set of common modes.
    package var modes: [String]
    /// Whether a source0 records `+mode` and `-mode` when it is scheduled and cancelled.
    package var announces = false
  }

  package enum Kind: Sendable, Equatable {
    case source0(order: Int)
    case source1(written: Bool, order: Int)
    /// The reading end of a pipe nobody writes to: it becomes ready when the other end is closed.
    case pipe
    case timer(milliseconds: Double, every: Double, order: Int)
    case observer(Phases, order: Int, repeats: Bool, voice: Voice)
  }

  /// How an observer writes itself into the trace.
  package enum Voice: Sendable, Equatable {
    /// `BT`: the one observer whose tokens are the skeleton of a trace.
    case phase
    /// `w:BT`.
    case named
    /// Nothing: it exists for its script.
    case silent
  }

  /// What a script hangs on: a callout of `name`, in one phase or in any.
  package struct Script: Sendable, Equatable {
    package var name: String
    package var phase: Phases?
    /// The how-manyth callout (in that phase) it belongs to; nil means every one.
    package var turn: Int?
    package var actions: [Action]
  }

  package struct Timed: Sendable, Equatable {
    package var milliseconds: Double
    package var actions: [Action]
  }

  package indirect enum Action: Sendable, Equatable {
    case run(String, milliseconds: Double, handled: Bool)
    case runForever
    case signal(String)
    case write(String)
    case wake, stop
    /// A stop that the next run obeys; CFRunLoop keeps it per mode and private, Rondo per loop.
    case requestStop(String)
    case block(String, modes: [String])
    case onMainQueue(String)
    case add(String, String)
    case remove(String, String)
    case invalidate(String)
    case commonMode(String)
    case setFireDate(String, milliseconds: Double)
    case busy(Double)
    /// Keeps the thread busy until so long after the start.
    case busyUntil(Double)
    /// A change from a helper thread; where Rondo's wakes the loop by itself, CFRunLoop is woken after it.
    case waking(Action)
    /// Closes the other end of a pipe.
    case hangUp(String)
    case interruptLoopThread
    case probe(Probe)
    /// Runs the actions on a second thread, with that thread's loop, and waits for them.
    case elsewhere([Action])
    /// Ends that second thread and waits for it.
    case endElsewhere
  }

  /// A question whose answer becomes a token.
  package enum Probe: Sendable, Equatable {
    case contains(String, String)
    case valid(String)
    case signalled(String)
    case currentMode, modes, waiting
    case hasFireDate(String)
    case elapsed(atLeast: Double)
  }
}

/// The activities of a loop, with CFRunLoop's raw values.
package struct Phases: OptionSet, Hashable, Sendable {
  package let rawValue: UInt
  package init(rawValue: UInt) { self.rawValue = rawValue }

  package static let entry = Phases(rawValue: 1)
  package static let beforeTimers = Phases(rawValue: 2)
  package static let beforeSources = Phases(rawValue: 4)
  package static let beforeWaiting = Phases(rawValue: 32)
  package static let afterWaiting = Phases(rawValue: 64)
  package static let exit = Phases(rawValue: 128)
  package static let all = Phases(rawValue: 0x0FFF_FFFF)

  package static let each: [Phases] = [.entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit]

  /// The token of a single phase, as the reference writes it.
  package var token: String {
    switch self {
    case .entry: "E"
    case .beforeTimers: "BT"
    case .beforeSources: "BS"
    case .beforeWaiting: "BW"
    case .afterWaiting: "AW"
    case .exit: "X"
    case .all: "all"
    default: Self.each.filter { contains($0) }.map(\.token).joined(separator: "+")
    }
  }
}

/// How a run ended, in the words of both loops.
package enum RunOutcome: String, Sendable {
  case finished = "Finished"
  case stopped = "Stopped"
  case timedOut = "TimedOut"
  case handledSource = "HandledSource"
}

/// Which of the two loops.
package enum Subject: String, Sendable, CaseIterable {
  case cf, rondo
}
