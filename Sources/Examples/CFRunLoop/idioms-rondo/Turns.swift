import Rondo
import RondoFoundation

func tracking() {
  onThread {
    let loop = Loop.current

    loop.perform(in: .default) { note("image") }
    loop.add(Loop.Timer(after: .milliseconds(10)) { _ in note("scrolled") }, to: .eventTracking)
    loop.run(in: .eventTracking)

    loop.run(for: .zero)
  }
  section("tracking")
}

func flush() {
  onThread {
    let loop = Loop.current

    let isDirty = Shared(false)
    let flush = Loop.Observer([.beforeWaiting, .exit], order: 2_000_000) { _ in
      guard isDirty.value else { return }
      isDirty.value = false
      note("flush")
    }
    loop.add(flush)
    for change in 1...2 {
      loop.perform {
        note("change \(change)")
        isDirty.value = true
      }
    }

    loop.run()
  }
  section("flush")
}

func displayLink() {
  onThread {
    let loop = Loop.current

    var count = 0
    let timer = Loop.Timer(every: .nanoseconds(16_666_667)) { _ in
      count += 1
      note("frame \(count)")
      if count == 3 { loop.stop() }
    }
    loop.add(timer, to: .common)

    loop.run()
    timer.invalidate()
  }
  section("display link")
}

func idleWork() {
  onThread {
    let loop = Loop.current

    var pieces = ["page 1", "page 2", "page 3"]
    let idle = Loop.Observer(.beforeWaiting, order: 1_000_000) { _ in
      note(pieces.removeFirst())
      if pieces.isEmpty { loop.stop() } else { loop.wakeUp() }
    }
    loop.add(idle)

    loop.add(Loop.Source {})
    loop.run()
  }
  section("idle work")
}

func scopes() {
  onThread {
    let loop = Loop.current

    let push = Loop.Observer(.entry, order: .min) { _ in note("push") }
    let pop = Loop.Observer([.beforeWaiting, .exit], order: .max) { activity in
      note("pop")
      if activity == .beforeWaiting { note("push") }
    }
    for observer in [push, pop] { loop.add(observer) }

    loop.add(Loop.Source {})
    loop.perform {
      note("work")
      loop.stop()
    }
    loop.run()
  }
  section("scopes")
}

func notifications() {
  onThread {
    let changed = Notification.Name("changed")
    let center = NotificationCenter.default
    let observer = center.addObserver(forName: changed, object: nil, queue: nil) { _ in note("changed") }
    let queue = NotificationQueue.default

    for _ in 1...3 {
      queue.enqueue(Notification(name: changed), postingStyle: .asap, coalesceMask: .onName, forModes: [.default])
    }

    RunLoop.current.add(Timer(timeInterval: 0.01, repeats: false) { _ in }, forMode: .default)
    RunLoop.current.run()
    center.removeObserver(observer)
  }
  section("notifications")
}

func allModes() {
  onThread {
    let loop = Loop.current
    for name in ["one", "two"] {
      loop.add(Loop.Timer(after: .zero) { _ in note(name) }, to: Loop.Mode(rawValue: name))
    }

    for mode in loop.modes { loop.run(in: mode, for: .zero) }
  }
  section("all modes")
}

func condition() {
  onThread {
    let loop = Loop.current
    loop.add(Loop.Source {})
    let answer = Shared<String?>(nil)

    Thread.detachNewThread {
      loop.perform {
        answer.value = "answer"
        loop.stop()
      }
    }
    loop.run(for: .seconds(60))

    note(answer.value ?? "none")
  }
  section("condition")
}
