import Rondo
import RondoFoundation
import RondoTesting
import Testing

/// NotificationQueue, by Apple's documentation.
@Suite struct NotificationQueueTests {
  /// A queue of its own center on a virtual loop, with everything that is posted in the stage's trace.
  private func withQueue(_ body: (FoundationStage, NotificationQueue, NotificationCenter) -> Void) {
    withFoundationStage { stage in
      let center = NotificationCenter()
      let observer = center.addObserver(forName: nil, object: nil, queue: nil) { stage.note($0.name.rawValue) }
      body(stage, NotificationQueue(notificationCenter: center), center)
      center.removeObserver(observer)
    }
  }

  private func notification(_ name: String, from sender: Any? = nil) -> Notification {
    Notification(name: Notification.Name(name), object: sender)
  }

  /// Something to keep the default mode alive, and a turn's observers in the trace.
  private func keepAlive(_ stage: FoundationStage) {
    stage.runLoop.add(RunLoop.Source {}, forMode: .default)
  }

  @Test func `now posts at once`() {
    withQueue { stage, queue, _ in
      queue.enqueue(notification("n"), postingStyle: .now)
      #expect(stage.text == "n")
    }
  }

  @Test func `asap is posted in order, before idle, though it was enqueued later`() {
    withQueue { stage, queue, _ in
      keepAlive(stage)
      for name in ["i1", "i2"] { queue.enqueue(notification(name), postingStyle: .whenIdle) }
      for name in ["a1", "a2", "a3"] { queue.enqueue(notification(name), postingStyle: .asap) }
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 1))
      #expect(stage.text == "a1 a2 a3 i1 i2")
    }
  }

  @Test func `asap is posted at the end of the turn that enqueued it`() {
    withQueue { stage, queue, _ in
      nonisolated(unsafe) let queue = queue
      Timer.scheduledTimer(withTimeInterval: 1, repeats: false) { _ in
        unsafe queue.enqueue(notification("asap"), postingStyle: .asap)
        stage.note("timer")
      }
      Timer.scheduledTimer(withTimeInterval: 2, repeats: false) { _ in stage.note("later") }
      stage.runLoop.run()
      #expect(stage.text == "timer asap later")
    }
  }

  @Test func `idle waits while sources and timers are due`() {
    withQueue { stage, queue, _ in
      let rest = Counter(3)
      let source = SourceBox()
      source.source = RunLoop.Source {
        stage.note("source")
        if rest.countDown() { source.source.signal() }
      }
      stage.runLoop.add(source.source, forMode: .default)
      source.source.signal()
      Timer.scheduledTimer(withTimeInterval: 0, repeats: false) { _ in stage.note("timer") }
      queue.enqueue(notification("idle"), postingStyle: .whenIdle)
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 1))
      #expect(stage.text == "source timer source source source idle")
      source.source.invalidate()
    }
  }

  @Test func `a turn that only looks posts asap and not idle`() {
    withQueue { stage, queue, _ in
      keepAlive(stage)
      queue.enqueue(notification("idle"), postingStyle: .whenIdle)
      queue.enqueue(notification("asap"), postingStyle: .asap)
      stage.runLoop.run(mode: .default, before: .distantPast)
      #expect(stage.text == "asap")
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 1))
      #expect(stage.text == "asap idle")
    }
  }

  @Test func `notifications are posted in their modes only`() {
    withQueue { stage, queue, _ in
      keepAlive(stage)
      stage.runLoop.add(RunLoop.Source {}, forMode: .tracking)
      for (name, modes) in [("d", [.default]), ("t", [.tracking])] as [(String, [RunLoop.Mode])] {
        queue.enqueue(notification(name), postingStyle: .asap, coalesceMask: .none, forModes: modes)
      }
      stage.runLoop.run(mode: .tracking, before: Date(timeIntervalSinceNow: 1))
      stage.note("|")
      stage.runLoop.run(mode: .default, before: Date(timeIntervalSinceNow: 1))
      #expect(stage.text == "t | d")
    }
  }

  @Test(arguments: [NotificationQueue.PostingStyle.now, .asap, .whenIdle])
  func `the common modes are a mode of their own here, as in Foundation's: none that runs matches`(
    _ style: NotificationQueue.PostingStyle
  ) {
    let theirs = TheirQueue.posted(style, Foundation.RunLoop.Mode.common, Foundation.RunLoop.Mode.default)
    withQueue { stage, queue, _ in
      keepAlive(stage)
      nonisolated(unsafe) let queue = queue
      stage.runLoop.perform {
        for (name, mode) in [("common", RunLoop.Mode.common), ("default", .default)] {
          unsafe queue.enqueue(notification(name), postingStyle: style, coalesceMask: .none, forModes: [mode])
        }
      }
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 1))
      #expect(stage.text == "default")
      #expect(stage.text == theirs)
    }
  }

  @Test func `now posts only in a mode of its own, if the loop is running`() {
    withQueue { stage, queue, _ in
      nonisolated(unsafe) let queue = queue
      stage.runLoop.perform {
        unsafe queue.enqueue(
          notification("tracking"), postingStyle: .now, coalesceMask: .none, forModes: [.tracking])
        unsafe queue.enqueue(notification("default"), postingStyle: .now)
      }
      stage.runLoop.run(until: .distantPast)
      #expect(stage.text == "default")
    }
  }

  @Test func `of those alike only one is posted; the mask says what is alike`() {
    withQueue { stage, queue, _ in
      keepAlive(stage)
      let (one, other) = (NSObject(), NSObject())
      for sender in [one, one, other, one] { queue.enqueue(notification("both", from: sender), postingStyle: .asap) }
      for sender in [one, other] {
        queue.enqueue(notification("name", from: sender), postingStyle: .asap, coalesceMask: .onName, forModes: nil)
      }
      for _ in 0..<2 {
        queue.enqueue(notification("none"), postingStyle: .asap, coalesceMask: .none, forModes: nil)
      }
      stage.runLoop.run(mode: .default, before: .distantPast)
      #expect(stage.text == "both both name none none")
      queue.enqueue(notification("x", from: one), postingStyle: .asap)
      queue.enqueue(notification("y", from: one), postingStyle: .asap, coalesceMask: .onSender, forModes: nil)
      stage.runLoop.run(mode: .default, before: .distantPast)
      #expect(stage.text == "both both name none none y")
    }
  }

  @Test func `coalescing goes across the posting styles, and now posts after it`() {
    withQueue { stage, queue, _ in
      keepAlive(stage)
      queue.enqueue(notification("n"), postingStyle: .whenIdle)
      queue.enqueue(notification("n"), postingStyle: .asap)
      queue.enqueue(notification("n"), postingStyle: .now)
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 1))
      #expect(stage.text == "n")
    }
  }

  @Test func `what was dequeued is not posted, not even by the round under way`() {
    withQueue { stage, queue, center in
      keepAlive(stage)
      nonisolated(unsafe) let queue = queue
      nonisolated(unsafe) let second = notification("second")
      let observer = center.addObserver(forName: Notification.Name("first"), object: nil, queue: nil) { _ in
        unsafe queue.dequeueNotifications(matching: unsafe second, coalesceMask: .onName)
      }
      unsafe queue.enqueue(notification("gone"), postingStyle: .whenIdle)
      unsafe queue.enqueue(notification("first"), postingStyle: .asap)
      unsafe queue.enqueue(unsafe second, postingStyle: .asap)
      unsafe queue.enqueue(notification("third"), postingStyle: .asap)
      unsafe queue.dequeueNotifications(matching: notification("gone"), coalesceMask: [.onName, .onSender])
      unsafe queue.dequeueNotifications(matching: notification("third"), coalesceMask: .none)
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 1))
      #expect(stage.text == "first third")
      center.removeObserver(observer)
    }
  }

  @Test func `what a notification's observer enqueues is posted before the loop sleeps`() {
    withQueue { stage, queue, center in
      keepAlive(stage)
      nonisolated(unsafe) let queue = queue
      let observer = center.addObserver(forName: Notification.Name("idle"), object: nil, queue: nil) { _ in
        unsafe queue.enqueue(Notification(name: Notification.Name("more")), postingStyle: .asap)
      }
      unsafe queue.enqueue(notification("idle"), postingStyle: .whenIdle)
      stage.virtual.at(.seconds(1)) { stage.note("slept") }
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 2))
      #expect(stage.text == "idle more slept")
      center.removeObserver(observer)
    }
  }

  @Test func `what an observer enqueues last thing before sleeping is posted before sleeping`() {
    withQueue { stage, queue, _ in
      keepAlive(stage)
      nonisolated(unsafe) let queue = queue
      let late = RunLoop.Observer(.beforeWaiting, repeats: false, order: .max) { _ in
        unsafe queue.enqueue(Notification(name: Notification.Name("late")), postingStyle: .asap)
      }
      stage.runLoop.add(late, forMode: .default)
      stage.virtual.at(.seconds(1)) { stage.note("slept") }
      stage.runLoop.run(until: Date(timeIntervalSinceNow: 2))
      #expect(stage.text == "late slept")
    }
  }

  @Test func `a thread has one default queue, with Foundation's default center`() throws {
    let thread = try LoopThread()
    let isSame = try thread.sync { NotificationQueue.default === NotificationQueue.default }
    let name = Notification.Name("\(UUID())")
    let notes = Notes()
    let observer = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
      notes.note(thread.isCurrent ? "posted" : "elsewhere")
    }
    thread.execute { NotificationQueue.default.enqueue(Notification(name: name), postingStyle: .whenIdle) }
    while notes.text.isEmpty { Thread.sleep(forTimeInterval: 0.0001) }
    thread.stop()
    NotificationCenter.default.removeObserver(observer)
    #expect(isSame && notes.text == "posted")
  }
}

private final class SourceBox: @unchecked Sendable {
  var source: RunLoop.Source!
}

private final class Counter: @unchecked Sendable {
  private var rest: Int
  init(_ count: Int) { rest = count }
  /// Whether some were left.
  func countDown() -> Bool {
    rest -= 1
    return rest >= 0
  }
}

/// Foundation's own queue, on its own loop of a new thread.
private enum TheirQueue {
  /// What is posted in the default mode of two notifications, each for one mode and named after it.
  static func posted(_ style: Foundation.NotificationQueue.PostingStyle, _ modes: RunLoop.Mode...) -> String {
    let notes = Notes()
    let thread = Thread {
      let center = NotificationCenter()
      let observer = center.addObserver(forName: nil, object: nil, queue: nil) { notes.note($0.name.rawValue) }
      let queue = Foundation.NotificationQueue(notificationCenter: center)
      nonisolated(unsafe) let both = (queue, modes)
      let loop = Foundation.RunLoop.current
      let timer = Foundation.Timer(timeInterval: 0.001, repeats: false) { _ in
        for mode in unsafe both.1 {
          let name = mode == .common ? "common" : "default"
          unsafe both.0.enqueue(
            Notification(name: Notification.Name(name)), postingStyle: style, coalesceMask: [], forModes: [mode])
        }
      }
      loop.add(timer, forMode: .default)
      // Until one is posted, and some turns more.
      let end = Date(timeIntervalSinceNow: 60)
      let alive = Foundation.Timer(timeInterval: 0.001, repeats: true) { _ in }
      loop.add(alive, forMode: .default)
      while notes.text.isEmpty, Date.now < end {
        _ = loop.run(mode: .default, before: Date(timeIntervalSinceNow: 0.005))
      }
      for _ in 0..<5 { _ = loop.run(mode: .default, before: Date(timeIntervalSinceNow: 0.005)) }
      alive.invalidate()
      center.removeObserver(observer)
      notes.note("|")
    }
    thread.start()
    while !notes.text.hasSuffix("|") { Thread.sleep(forTimeInterval: 0.001) }
    return notes.text.replacing(" |", with: "")
  }
}
