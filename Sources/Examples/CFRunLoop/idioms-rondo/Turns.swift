import Rondo
import RondoFoundation
import RondoRecipes

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

    let flush = Loop.Flush(on: loop) { note("flush") }
    for change in 1...2 {
      loop.perform {
        note("change \(change)")
        flush.setNeedsFlush()
      }
    }

    loop.run()
  }
  section("flush")
}

func displayLink() {
  onThread {
    let loop = Loop.current

    let count = Count()
    let clock = Loop.FrameClock(every: .nanoseconds(16_666_667), on: loop, in: .common) { _ in
      note("frame \(count.next())")
    }
    _ = loop.run { count.value == 3 }
    clock.invalidate()
  }
  section("display link")
}

func idleWork() {
  onThread {
    let loop = Loop.current

    let idle = Loop.IdleWork(on: loop)
    for page in 1...3 { idle.add { note("page \(page)") } }

    loop.add(Loop.Source {})
    _ = loop.run { idle.count == 0 }
  }
  section("idle work")
}

func scopes() {
  onThread {
    let loop = Loop.current

    let scope = Loop.TurnScope(on: loop, push: { note("push") }, pop: { note("pop") })

    loop.add(Loop.Source {})
    loop.perform {
      note("work")
      loop.stop()
    }
    loop.run()
    scope.invalidate()
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

    loop.runAllModes()
  }
  section("all modes")
}

func condition() {
  onThread {
    let loop = Loop.current
    loop.add(Loop.Source {})
    let answer = Shared<String?>(nil)
    Thread.detachNewThread {
      loop.perform { answer.value = "answer" }
    }

    _ = loop.run(timeout: .seconds(60)) { answer.value != nil }

    note(answer.value ?? "none")
  }
  section("condition")
}
