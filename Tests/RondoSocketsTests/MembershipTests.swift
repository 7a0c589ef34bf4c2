import Glibc
import Rondo
import RondoSockets
import Testing

/// Joining and leaving a loop may run other people's code, which may touch the very source that joins or leaves.
@Suite struct MembershipTests {
  /// The ways of touching a source.
  enum Touch: String, CaseIterable {
    case asks, enables, leaves, joins, invalidates

    func callAsFunction(_ source: SocketSource, _ loop: Loop) {
      switch self {
      case .asks: _ = (source.isValid, loop.contains(source), source.queuedByteCount)
      case .enables:
        source.disable(.data)
        source.enable(.data)
      case .leaves: loop.remove(source)
      case .joins: loop.add(source)
      case .invalidates: source.invalidate()
      }
    }
  }

  @Test(arguments: Touch.allCases, [false, true])
  func `a schedule handler may touch the source that joins or leaves`(_ touch: Touch, _ isLeaving: Bool) throws {
    let outcome = try withinAMinute { () -> [Bool] in
      try onLoopThread { stage in
        let (near, far) = try Socket.pair()
        let source = SocketSource(near, for: .data) { _, _ in }
        let touches = Touches()
        let nosy = Loop.Source(schedule: { loop, mode in if mode == "later" { touches.note { touch(source, loop) } } })
        {}
        stage.loop.add(nosy, to: .common)
        // It stays in another mode: one that leaves its last is invalid inside, for which no mail is applied.
        if isLeaving { for mode in [.default, "other"] as [Loop.Mode] { stage.loop.add(source, to: mode) } }
        // The mode becomes common when the loop's thread next looks at its mail, which is when it adds or removes.
        let loop = stage.loop
        try onLoopThread { _ in loop.addCommonMode("later") }
        if isLeaving { loop.remove(source) } else { loop.add(source) }
        _ = far
        return [touches.count == 1, loop.contains(source)]
      }
    }
    // The handler's word comes after that of whoever caused it, except where it speaks of a source gone for good.
    let isMember = isLeaving ? touch == .joins : touch != .leaves && touch != .invalidates
    #expect(outcome == [true, isMember])
  }

  @Test func `a closure that dies may touch the source that joins`() throws {
    let isDone = try withinAMinute { () -> Bool in
      try onLoopThread { stage in
        let (near, far) = try Socket.pair()
        let source = SocketSource(near, for: .data) { _, _ in }
        let loop = stage.loop
        let touches = Touches()
        var timer: Loop.Timer? = Loop.Timer(after: .seconds(100)) {
          [dying = Dying { touches.note { Touch.asks(source, loop) } }] _ in
          _ = dying
        }
        loop.add(timer!)
        let going = timer!
        timer = nil
        // Elsewhere: its closure dies with the mail that takes it out.
        try onLoopThread { _ in going.invalidate() }
        let isMember = loop.add(source)
        loop.run(for: .zero)
        _ = far
        return isMember && touches.count == 1
      }
    }
    #expect(isDone == true)
  }

  @Test func `a source that two threads put in and take out stays whole`() throws {
    let isWhole = try withinAMinute { () -> Bool in
      try onLoopThread { stage in
        let (near, far) = try Socket.pair()
        let source = SocketSource(near, for: .data) { source, event in
          stage.note("near", event.word)
          stage.loop.stop()
        }
        let loop = stage.loop
        let workers = (0..<2).map { number in
          Worker {
            for _ in 0..<2_000 {
              if number == 0 { loop.add(source) } else { loop.remove(source) }
            }
          }
        }
        while workers.contains(where: { !$0.isDone }) { loop.run(for: .zero) }
        loop.add(source)
        _ = try far.send(Array("x".utf8)[...])
        loop.run(for: .seconds(60))
        return stage.text("near") == "received(x)" && loop.contains(source)
      }
    }
    #expect(isWhole == true)
  }
}

/// How often something happened, on any thread.
private final class Touches: @unchecked Sendable {
  private let guarded = Guarded(0)
  var count: Int { guarded.withLock { $0 } }

  func note(_ body: () -> Void) {
    body()
    guarded.withLock { $0 += 1 }
  }
}

/// Does something when it dies.
private final class Dying: @unchecked Sendable {
  private let end: () -> Void
  init(_ end: @escaping () -> Void) { self.end = end }
  deinit { end() }
}

/// A thread that is not waited for.
private final class Worker: @unchecked Sendable {
  private let done = Guarded(false)
  var isDone: Bool { done.withLock { $0 } }

  init(_ body: @escaping @Sendable () -> Void) {
    startThread {
      body()
      self.done.withLock { $0 = true }
    }
  }
}

/// Runs `body` on a thread of its own; nil if that hangs.
private func withinAMinute<Value>(_ body: @escaping @Sendable () throws -> Value) throws -> Value? {
  let result = Guarded<Result<Value, any Error>?>(nil)
  startThread {
    nonisolated(unsafe) let found = Result { try body() }
    result.withLock { $0 = unsafe found }
  }
  let end = SuspendingClock.now.advanced(by: .seconds(60))
  while SuspendingClock.now < end {
    if let found = result.withLock({ $0 }) { return try found.get() }
    usleep(1_000)
  }
  return nil
}

private func startThread(_ body: @escaping @Sendable () -> Void) {
  var thread = pthread_t()
  let box = Worker.Body(body)
  let error = unsafe pthread_create(
    &thread, nil,
    { argument in
      unsafe Unmanaged<Worker.Body>.fromOpaque(argument!).takeRetainedValue().run()
      return nil
    }, Unmanaged.passRetained(box).toOpaque())
  precondition(error == 0, "No thread could be made: errno \(error).")
  pthread_detach(thread)
}

extension Worker {
  fileprivate final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
