import CoreFoundation
import Foundation

func tracking() {
  onThread {
    let loop = RunLoop.current
    let tracking = RunLoop.Mode("tracking")

    loop.perform(inModes: [.default]) { note("image") }
    loop.add(Timer(timeInterval: 0.01, repeats: false) { _ in note("scrolled") }, forMode: tracking)
    _ = loop.run(mode: tracking, before: .distantFuture)

    loop.add(Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .default)
    _ = loop.run(mode: .default, before: .distantPast)
  }
  section("tracking")
}

func flush() {
  onThread {
    let loop = CFRunLoopGetCurrent()

    var isDirty = false
    let activities: CFRunLoopActivity = [.beforeWaiting, .exit]
    let flush = CFRunLoopObserverCreateWithHandler(nil, activities.rawValue, true, 2_000_000) { _, _ in
      guard isDirty else { return }
      isDirty = false
      note("flush")
    }
    CFRunLoopAddObserver(loop, flush, kCFRunLoopDefaultMode)
    for change in 1...2 {
      CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {
        note("change \(change)")
        isDirty = true
      }
    }

    RunLoop.current.add(Timer(timeInterval: 0.01, repeats: false) { _ in }, forMode: .default)
    CFRunLoopRun()
  }
  section("flush")
}

func displayLink() {
  onThread {
    let count = Count()
    let timer = Timer.scheduledTimer(withTimeInterval: 1 / 60, repeats: true) { timer in
      note("frame \(count.next())")
      if count.value == 3 { timer.invalidate() }
    }
    RunLoop.current.add(timer, forMode: .common)
    RunLoop.current.run()
  }
  section("display link")
}

func idleWork() {
  onThread {
    let loop = CFRunLoopGetCurrent()

    var pieces = ["page 1", "page 2", "page 3"]
    let idle = CFRunLoopObserverCreateWithHandler(
      nil, CFRunLoopActivity.beforeWaiting.rawValue, true, 1_000_000
    ) { observer, _ in
      note(pieces.removeFirst())
      if pieces.isEmpty { CFRunLoopObserverInvalidate(observer) } else { CFRunLoopWakeUp(loop) }
    }
    CFRunLoopAddObserver(loop, idle, kCFRunLoopDefaultMode)

    RunLoop.current.add(Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .default)
    while !pieces.isEmpty { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.01, false) }
  }
  section("idle work")
}

func scopes() {
  onThread {
    let loop = CFRunLoopGetCurrent()

    let push = CFRunLoopObserverCreateWithHandler(nil, CFRunLoopActivity.entry.rawValue, true, .min) { _, _ in
      note("push")
    }
    let activities: CFRunLoopActivity = [.beforeWaiting, .exit]
    let pop = CFRunLoopObserverCreateWithHandler(nil, activities.rawValue, true, .max) { _, activity in
      note("pop")
      if activity == .beforeWaiting { note("push") }
    }
    for observer in [push, pop] { CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode) }

    RunLoop.current.add(Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .default)
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {
      note("work")
      CFRunLoopStop(loop)
    }
    CFRunLoopRun()
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
    let loop = CFRunLoopGetCurrent()!
    for name in ["one", "two"] {
      RunLoop.current.add(Timer(fire: Date(), interval: 0, repeats: false) { _ in note(name) }, forMode: .init(name))
    }

    let modes = CFRunLoopCopyAllModes(loop)!
    for index in 0..<CFArrayGetCount(modes) {
      let mode = Unmanaged<CFString>.fromOpaque(CFArrayGetValueAtIndex(modes, index)!).takeUnretainedValue()
      CFRunLoopRunInMode(mode, 0, false)
    }
  }
  section("all modes")
}

func condition() {
  onThread {
    let loop = CFRunLoopGetCurrent()
    RunLoop.current.add(Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .default)
    let answer = Shared<String?>(nil)
    Thread.detachNewThread {
      CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) { answer.value = "answer" }
      CFRunLoopWakeUp(loop)
    }

    let limit = Date(timeIntervalSinceNow: 60)
    while answer.value == nil, limit.timeIntervalSinceNow > 0 {
      _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.1))
    }

    note(answer.value ?? "none")
  }
  section("condition")
}
