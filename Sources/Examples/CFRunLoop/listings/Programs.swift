import Dispatch
import Glibc

#if RONDO
  import RondoCoreFoundation
#else
  import CoreFoundation
#endif

// MARK: - An observer of all activities that logs the phases

func phases() {
  onThread {
    let loop = CFRunLoopGetCurrent()!
    observeAll()
    run(0.01)
    var context = CFRunLoopSourceContext()
    context.perform = { _ in note("perform") }
    let source = CFRunLoopSourceCreate(nil, 0, &context)!
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
    CFRunLoopSourceSignal(source)
    run(0)
    CFRunLoopSourceSignal(source)
    run(5, true)
    let timer = makeTimer(after: 0.005) { _ in
      note("fire")
      note("in \(string(CFRunLoopCopyCurrentMode(CFRunLoopGetCurrent())))")
      CFRunLoopStop(CFRunLoopGetCurrent())
    }
    CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
    run(5)
    note("in \(string(CFRunLoopCopyCurrentMode(loop)))")
    note("waiting \(CFRunLoopIsWaiting(loop))")
  }
  log.section("phases")

  onThread {
    let loop = CFRunLoopGetCurrent()!
    let keeper = makeKeeper()
    CFRunLoopAddSource(loop, keeper, kCFRunLoopDefaultMode)
    // By order, and in sequence of insertion.
    for (name, order) in [("late", 5), ("early", -5), ("first", 0), ("second", 0)] {
      let turn = CFRunLoopActivity.beforeTimers.rawValue
      let observer = CFRunLoopObserverCreateWithHandler(nil, turn, true, order) { _, _ in note(name) }
      CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode)
    }
    let all = CFRunLoopActivity.allActivities.rawValue
    let once = CFRunLoopObserverCreateWithHandler(nil, all, false, 0) { observer, activity in
      note("once \(string(activity)) valid \(CFRunLoopObserverIsValid(observer))")
    }!
    CFRunLoopAddObserver(loop, once, kCFRunLoopDefaultMode)
    run(0)
    note("once valid \(CFRunLoopObserverIsValid(once))")
    note("repeats \(CFRunLoopObserverDoesRepeat(once)) order \(CFRunLoopObserverGetOrder(once))")
    note("activities \(CFRunLoopObserverGetActivities(once))")
    note("contained \(CFRunLoopContainsObserver(loop, once, kCFRunLoopDefaultMode))")
  }
  log.section("observers")
}

// MARK: - Why a run returns

func results() {
  onThread {
    run(1)
    run(kCFRunLoopCommonModes, 1)
    run(text("no such mode"), 1)
    let loop = CFRunLoopGetCurrent()!
    let keeper = makeKeeper()
    CFRunLoopAddSource(loop, keeper, kCFRunLoopDefaultMode)
    run(0)
    run(-5)
    run(0.001)
    // Neither is kept for a run that has not begun.
    CFRunLoopStop(loop)
    CFRunLoopWakeUp(loop)
    run(0.001)
    let stopper = makeTimer(after: 0.001) { _ in CFRunLoopStop(loop) }
    CFRunLoopAddTimer(loop, stopper, kCFRunLoopDefaultMode)
    run(.infinity)
    // A nested run is stopped by itself.
    let nesting = makeTimer(after: 0) { _ in
      let inner = makeTimer(after: 0.001) { _ in CFRunLoopStop(loop) }
      CFRunLoopAddTimer(loop, inner, kCFRunLoopDefaultMode)
      note("inner")
      run(5)
      CFRunLoopStop(loop)
    }
    CFRunLoopAddTimer(loop, nesting, kCFRunLoopDefaultMode)
    run(5)
    CFRunLoopRemoveSource(loop, keeper, kCFRunLoopDefaultMode)
    run(1)
    let last = makeTimer(after: 0.001) { _ in note("last") }
    CFRunLoopAddTimer(loop, last, kCFRunLoopDefaultMode)
    CFRunLoopRun()
    note("returned")
  }
  log.section("results")
}

// MARK: - Timers

func timers() {
  onThread {
    let loop = CFRunLoopGetCurrent()!
    var fires = 0
    let timer = makeTimer(after: 0.01, every: 0.01) { timer in
      fires += 1
      note("fire \(fires)")
      if fires == 3 {
        CFRunLoopTimerInvalidate(timer)
        note("valid \(CFRunLoopTimerIsValid(timer))")
      }
    }
    let date = CFRunLoopTimerGetNextFireDate(timer)
    note("next of none \(CFRunLoopGetNextTimerFireDate(loop, kCFRunLoopDefaultMode))")
    CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
    note("next \(CFRunLoopGetNextTimerFireDate(loop, kCFRunLoopDefaultMode) == date)")
    note("contained \(CFRunLoopContainsTimer(loop, timer, kCFRunLoopDefaultMode))")
    note("interval \(CFRunLoopTimerGetInterval(timer)) repeats \(CFRunLoopTimerDoesRepeat(timer))")
    note("order \(CFRunLoopTimerGetOrder(timer))")
    run(10)
    note("early \(CFAbsoluteTimeGetCurrent() < date + 0.02)")
    note("next date \(CFRunLoopTimerGetNextFireDate(timer))")
    note("contained \(CFRunLoopContainsTimer(loop, timer, kCFRunLoopDefaultMode))")
  }
  log.section("a repeating timer")

  onThread {
    let loop = CFRunLoopGetCurrent()!
    var handled: [String] = []
    let later = CFAbsoluteTimeGetCurrent() + 1000
    let once = makeTimer(after: 1000) { timer in
      handled.append("once")
      note("valid inside \(CFRunLoopTimerIsValid(timer))")
      // Too late for a timer that fires once.
      CFRunLoopTimerSetNextFireDate(timer, later)
    }
    CFRunLoopAddTimer(loop, once, kCFRunLoopDefaultMode)
    CFRunLoopTimerSetNextFireDate(once, later)
    note("set \(CFRunLoopTimerGetNextFireDate(once) == later)")
    CFRunLoopTimerSetNextFireDate(once, CFAbsoluteTimeGetCurrent() - 10)
    run(10)
    note("\(handled) valid \(CFRunLoopTimerIsValid(once))")
    // The distant future is clamped.
    let never = CFRunLoopTimerCreateWithHandler(nil, 1e20, 0, 0, 0) { _ in }
    note("never \(CFRunLoopTimerGetNextFireDate(never))")
    let negative = CFRunLoopTimerCreateWithHandler(nil, 0, -3, 0, 0) { _ in }
    note("negative \(CFRunLoopTimerGetInterval(negative)) \(CFRunLoopTimerDoesRepeat(negative))")
  }
  log.section("dates")
}

// MARK: - Blocks

func blocks() {
  onThread {
    let loop = CFRunLoopGetCurrent()!
    let keeper = makeKeeper()
    let other = text("other")
    CFRunLoopAddSource(loop, keeper, kCFRunLoopDefaultMode)
    CFRunLoopAddSource(loop, keeper, other)
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) { note("default") }
    CFRunLoopPerformBlock(loop, other) { note("other") }
    CFRunLoopPerformBlock(loop, kCFRunLoopCommonModes) { note("common") }
    var callbacks = kCFTypeArrayCallBacks
    var names: [UnsafeRawPointer?] = [
      UnsafeRawPointer(Unmanaged.passUnretained(other).toOpaque()),
      UnsafeRawPointer(Unmanaged.passUnretained(kCFRunLoopDefaultMode!).toOpaque()),
    ]
    let either = CFArrayCreate(nil, &names, names.count, &callbacks)!
    CFRunLoopPerformBlock(loop, either) { note("either") }
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {
      CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) { note("posted by a block") }
    }
    run(0)
    run(other, 0)
    run(0)
  }
  log.section("blocks")
}

// MARK: - A timer in the common modes

func commonModes() {
  onThread {
    let loop = CFRunLoopGetCurrent()!
    let tracking = text("tracking")
    let keeper = makeKeeper()
    CFRunLoopAddSource(loop, keeper, tracking)
    var fires = 0
    let timer = makeTimer(after: 0.001, every: 0.001) { _ in
      fires += 1
      CFRunLoopStop(loop)
    }
    CFRunLoopAddTimer(loop, timer, kCFRunLoopCommonModes)
    note("in tracking \(CFRunLoopContainsTimer(loop, timer, tracking))")
    run(tracking, 0.01)
    note("fires \(fires)")
    CFRunLoopAddCommonMode(loop, tracking)
    note("in tracking \(CFRunLoopContainsTimer(loop, timer, tracking))")
    note("in common \(CFRunLoopContainsTimer(loop, timer, kCFRunLoopCommonModes))")
    run(tracking, 10)
    note("fires \(fires)")
    run(kCFRunLoopDefaultMode, 10)
    note("fires \(fires)")
    CFRunLoopRemoveTimer(loop, timer, kCFRunLoopCommonModes)
    note("in default \(CFRunLoopContainsTimer(loop, timer, kCFRunLoopDefaultMode))")
    let modes = CFRunLoopCopyAllModes(loop)!
    let names = (0..<CFArrayGetCount(modes)).map {
      string(Unmanaged<CFString>.fromOpaque(CFArrayGetValueAtIndex(modes, $0)!).takeUnretainedValue())
    }
    note("modes \(names.sorted())")
  }
  log.section("common modes")
}

// MARK: - Switching modes to hold back work

func heldBack() {
  onThread {
    let loop = CFRunLoopGetCurrent()!
    let exclusive = text("exclusive")
    var work = CFRunLoopSourceContext()
    work.perform = { _ in note("work") }
    let source = CFRunLoopSourceCreate(nil, 0, &work)!
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
    let end = makeTimer(after: 0.005) { _ in
      note("end of the exclusive mode")
      CFRunLoopStop(loop)
    }
    CFRunLoopAddTimer(loop, end, exclusive)
    CFRunLoopSourceSignal(source)
    run(exclusive, 10)
    run(kCFRunLoopDefaultMode, 10, true)
  }
  log.section("held back")
}

// MARK: - Idle work in beforeWaiting

func idleWork() {
  onThread {
    let loop = CFRunLoopGetCurrent()!
    let keeper = makeKeeper()
    CFRunLoopAddSource(loop, keeper, kCFRunLoopDefaultMode)
    var left = ["a", "b", "c"]
    let idle = CFRunLoopObserverCreateWithHandler(
      nil, CFRunLoopActivity.beforeWaiting.rawValue, true, 2_000_000
    ) { observer, _ in
      note("idle \(left.removeFirst())")
      if left.isEmpty {
        CFRunLoopObserverInvalidate(observer)
        CFRunLoopStop(loop)
      } else {
        CFRunLoopWakeUp(loop)
      }
    }
    CFRunLoopAddObserver(loop, idle, kCFRunLoopDefaultMode)
    run(10)
  }
  log.section("idle work")
}

// MARK: - Run until a condition

func untilCondition() {
  onThread {
    let loop = CFRunLoopGetCurrent()!
    var isDone = false
    let watcher = CFRunLoopObserverCreateWithHandler(
      nil, CFRunLoopActivity.beforeWaiting.rawValue, true, 0
    ) { _, _ in
      if isDone { CFRunLoopStop(loop) }
    }
    CFRunLoopAddObserver(loop, watcher, kCFRunLoopDefaultMode)
    let keeper = makeKeeper()
    CFRunLoopAddSource(loop, keeper, kCFRunLoopDefaultMode)
    let worker = start {
      usleep(5000)
      CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) { isDone = true }
      CFRunLoopWakeUp(loop)
    }
    run(10)
    note("done \(isDone)")
    join(worker)
    CFRunLoopObserverInvalidate(watcher)
  }
  log.section("until a condition")
}
