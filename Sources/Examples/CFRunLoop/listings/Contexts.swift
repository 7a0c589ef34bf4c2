import Glibc

#if RONDO
  import RondoCoreFoundation
#else
  import CoreFoundation
#endif

/// An info whose references are counted by its context's functions.
final class Counted {
  let name: String
  var count = 0
  init(_ name: String) { self.name = name }

  var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static func of(_ info: UnsafeRawPointer?) -> Counted {
    Unmanaged<Counted>.fromOpaque(info!).takeUnretainedValue()
  }

  func retained() {
    count += 1
    note("\(name) retain \(count)")
  }

  func released() {
    count -= 1
    note("\(name) release \(count)")
  }
}

private let retain: @convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer? = {
  Counted.of($0).retained()
  return $0
}
private let release: @convention(c) (UnsafeRawPointer?) -> Void = { Counted.of($0).released() }

func contexts() {
  onThread { timerContexts() }
  log.section("context of a timer")
  onThread { observerContexts() }
  log.section("context of an observer")
  onThread { sourceContexts() }
  log.section("context of a source")
  onThread { sharedSource() }
  log.section("a source in two modes")
}

private func timerContexts() {
  let loop = CFRunLoopGetCurrent()!
  let info = Counted("timer")
  func use() {
    var context = CFRunLoopTimerContext(
      version: 0, info: info.pointer, retain: retain, release: release, copyDescription: nil)
    let timer = CFRunLoopTimerCreate(
      nil, CFAbsoluteTimeGetCurrent(), 0, 0, 7,
      { timer, info in
        note("fire \(Counted.of(info).count) \(CFRunLoopTimerIsValid(timer))")
      }, &context)
    note("order \(CFRunLoopTimerGetOrder(timer))")
    var read = CFRunLoopTimerContext()
    CFRunLoopTimerGetContext(timer, &read)
    note("info \(read.info == info.pointer)")
    CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
    run(1)
    CFRunLoopTimerGetContext(timer, &read)
    note("info \(read.info == nil)")

    // One that invalidates itself, and one that never fires.
    let repeating = CFRunLoopTimerCreate(
      nil, CFAbsoluteTimeGetCurrent(), 1, 0, 0,
      { timer, info in
        note("invalidate")
        CFRunLoopTimerInvalidate(timer)
        note("fired \(Counted.of(info).count)")
      }, &context)
    CFRunLoopAddTimer(loop, repeating, kCFRunLoopDefaultMode)
    run(1)
    _ = CFRunLoopTimerCreate(nil, 0, 0, 0, 0, { _, _ in }, &context)
    note("made")
  }
  use()
  note("left \(info.count)")
}

private func observerContexts() {
  let loop = CFRunLoopGetCurrent()!
  let keeper = makeKeeper()
  CFRunLoopAddSource(loop, keeper, kCFRunLoopDefaultMode)
  let info = Counted("observer")
  func use() {
    var context = CFRunLoopObserverContext(
      version: 0, info: info.pointer, retain: retain, release: release, copyDescription: nil)
    let observer = CFRunLoopObserverCreate(
      nil, CFRunLoopActivity.beforeTimers.rawValue, true, 0,
      { observer, activity, info in
        note("\(string(activity)) \(Counted.of(info).count)")
        CFRunLoopObserverInvalidate(observer)
        note("invalid \(Counted.of(info).count)")
      }, &context)
    CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode)
    run(0)
    let once = CFRunLoopObserverCreate(
      nil, CFRunLoopActivity.exit.rawValue, false, 0, { _, activity, _ in note(string(activity)) }, &context)
    CFRunLoopAddObserver(loop, once, kCFRunLoopDefaultMode)
    run(0)
  }
  use()
  note("left \(info.count)")
}

private func makeSource(_ info: Counted, order: Int = 0) -> CFRunLoopSource {
  var context = CFRunLoopSourceContext()
  context.info = info.pointer
  context.retain = retain
  context.release = release
  context.schedule = { note("\(Counted.of($0).name) schedule \(string($2)) \($1 === CFRunLoopGetCurrent())") }
  context.cancel = { note("\(Counted.of($0).name) cancel \(string($2)) \($1 === CFRunLoopGetCurrent())") }
  context.perform = { note("\(Counted.of($0).name) perform") }
  return CFRunLoopSourceCreate(nil, order, &context)
}

private func sourceContexts() {
  let loop = CFRunLoopGetCurrent()!
  let infos = ["a", "b", "c"].map { Counted($0) }
  func use() -> CFRunLoopSource {
    let sources = zip(infos, [1, -1, 0]).map { makeSource($0, order: $1) }
    for source in sources {
      CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
      CFRunLoopSourceSignal(source)
      // Once is enough.
      CFRunLoopSourceSignal(source)
    }
    run(0)
    CFRunLoopSourceSignal(sources[0])
    run(1, true)
    note("order \(CFRunLoopSourceGetOrder(sources[1]))")
    // Removed, it keeps its context; invalidated, too.
    CFRunLoopRemoveSource(loop, sources[0], kCFRunLoopDefaultMode)
    note("contained \(CFRunLoopContainsSource(loop, sources[0], kCFRunLoopDefaultMode))")
    CFRunLoopSourceInvalidate(sources[1])
    note("valid \(CFRunLoopSourceIsValid(sources[1]))")
    CFRunLoopAddSource(loop, sources[1], kCFRunLoopDefaultMode)
    note("contained \(CFRunLoopContainsSource(loop, sources[1], kCFRunLoopDefaultMode))")
    note("end of use")
    return sources[2]
  }
  // The third is still in the loop.
  var third: CFRunLoopSource? = use()
  note("left \(infos.map(\.count))")
  CFRunLoopRemoveSource(loop, third, kCFRunLoopDefaultMode)
  note("removed")
  third = nil
  note("left \(infos.map(\.count))")
}

private func sharedSource() {
  let loop = CFRunLoopGetCurrent()!
  let info = Counted("source")
  let other = text("other")
  func use() {
    let source = makeSource(info)
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
    CFRunLoopAddSource(loop, source, other)
    CFRunLoopRemoveSource(loop, source, kCFRunLoopDefaultMode)
    CFRunLoopSourceSignal(source)
    run(1)
    run(other, 1, true)
    CFRunLoopSourceSignal(source)
    CFRunLoopAddSource(loop, source, kCFRunLoopCommonModes)
    run(1, true)
    CFRunLoopRemoveSource(loop, source, kCFRunLoopCommonModes)
    CFRunLoopSourceInvalidate(source)
  }
  use()
  note("left \(info.count)")
}

// MARK: - Equal sources are one

func equality() {
  onThread {
    let loop = CFRunLoopGetCurrent()!
    var context = CFRunLoopSourceContext()
    context.perform = { _ in note("perform") }
    context.equal = { _, _ in true }
    context.hash = { _ in 5 }
    let first = CFRunLoopSourceCreate(nil, 0, &context)!
    let second = CFRunLoopSourceCreate(nil, 0, &context)!
    let third = CFRunLoopSourceCreate(nil, 1, &context)!
    note("equal \(CFEqual(first, second)) \(CFEqual(first, third)) hash \(CFHash(first) == CFHash(second))")
    CFRunLoopAddSource(loop, first, kCFRunLoopDefaultMode)
    note("contains \(CFRunLoopContainsSource(loop, second, kCFRunLoopDefaultMode))")
    CFRunLoopAddSource(loop, second, kCFRunLoopDefaultMode)
    CFRunLoopSourceSignal(second)
    run(0)
    CFRunLoopSourceSignal(first)
    run(0)
    note("contains \(CFRunLoopContainsSource(loop, third, kCFRunLoopDefaultMode))")
    CFRunLoopRemoveSource(loop, second, kCFRunLoopDefaultMode)
    note("contains \(CFRunLoopContainsSource(loop, first, kCFRunLoopDefaultMode))")
    run(0)
    var plain = CFRunLoopSourceContext()
    note("strings \(CFEqual(text("a"), text("a"))) \(CFEqual(text("a"), text("b")))")
    note("none \(CFRunLoopSourceCreate(nil, 0, &plain) == nil)")
  }
  log.section("equality")
}
