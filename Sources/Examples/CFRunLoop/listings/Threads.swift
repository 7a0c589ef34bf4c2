import Dispatch
import Glibc

#if RONDO
  import RondoCoreFoundation
#else
  import CoreFoundation
#endif

// MARK: - A stall watcher: two observers and a semaphore

func stallWatcher() {
  onThread {
    let loop = CFRunLoopGetCurrent()!
    let turn = DispatchSemaphore(value: 0)
    let seen = DispatchSemaphore(value: 0)
    var isAwake = false
    var isOver = false
    let awake = CFRunLoopObserverCreateWithHandler(
      nil, CFRunLoopActivity.beforeSources.rawValue | CFRunLoopActivity.afterWaiting.rawValue, true, Int.min
    ) { _, _ in
      isAwake = true
      turn.signal()
    }
    let asleep = CFRunLoopObserverCreateWithHandler(
      nil, CFRunLoopActivity.beforeWaiting.rawValue | CFRunLoopActivity.exit.rawValue, true, Int.max
    ) { _, _ in
      isAwake = false
      turn.signal()
    }
    CFRunLoopAddObserver(loop, awake, kCFRunLoopCommonModes)
    CFRunLoopAddObserver(loop, asleep, kCFRunLoopCommonModes)
    let watcher = start {
      while !isOver {
        if turn.wait(timeout: .now() + .milliseconds(50)) == .timedOut, isAwake { seen.signal() }
      }
    }
    let stall = makeTimer(after: 0.005) { _ in
      note("stalls")
      // However long the watcher takes.
      seen.wait()
      note("was noticed")
      CFRunLoopStop(loop)
    }
    CFRunLoopAddTimer(loop, stall, kCFRunLoopDefaultMode)
    run(100)
    isOver = true
    turn.signal()
    join(watcher)
    CFRunLoopObserverInvalidate(awake)
    CFRunLoopObserverInvalidate(asleep)
  }
  log.section("a stall watcher")
}

// MARK: - A permanent thread, kept alive by a source

final class PermanentThread {
  private var thread = pthread_t()
  private var loop: CFRunLoop?
  private let isReady = DispatchSemaphore(value: 0)

  init() {
    thread = start { [unowned self] in
      let keeper = makeKeeper()
      CFRunLoopAddSource(CFRunLoopGetCurrent(), keeper, kCFRunLoopDefaultMode)
      loop = CFRunLoopGetCurrent()
      isReady.signal()
      var result = CFRunLoopRunResult.finished
      repeat { result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1000, false) } while result == .timedOut
      note("thread \(string(result))")
    }
    isReady.wait()
  }

  func perform(_ body: @escaping () -> Void) {
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, body)
    CFRunLoopWakeUp(loop)
  }

  func stop() {
    let loop = self.loop!
    perform { CFRunLoopStop(loop) }
    join(thread)
  }
}

func permanentThread() {
  let thread = PermanentThread()
  for number in 1...3 {
    let isDone = DispatchSemaphore(value: 0)
    thread.perform {
      note("task \(number)")
      isDone.signal()
    }
    isDone.wait()
  }
  thread.stop()
  log.section("a permanent thread")
}

// MARK: - A custom source with a command buffer, known to a second thread by schedule and cancel

final class CommandSource {
  private let lock = DispatchSemaphore(value: 1)
  private var commands: [String] = []
  private var source: CFRunLoopSource!
  /// Where it can be woken: told by schedule, forgotten by cancel.
  private var loops: [(loop: CFRunLoop, mode: String)] = []
  let isScheduled = DispatchSemaphore(value: 0)

  init() {
    var context = CFRunLoopSourceContext()
    context.info = Unmanaged.passUnretained(self).toOpaque()
    context.schedule = { CommandSource.of($0).scheduled($1!, string($2)) }
    context.cancel = { CommandSource.of($0).cancelled($1!, string($2)) }
    context.perform = { CommandSource.of($0).perform() }
    source = CFRunLoopSourceCreate(nil, 0, &context)
  }

  static func of(_ info: UnsafeMutableRawPointer?) -> CommandSource {
    Unmanaged<CommandSource>.fromOpaque(info!).takeUnretainedValue()
  }

  func add() { CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode) }
  func invalidate() { CFRunLoopSourceInvalidate(source) }

  /// From the client's thread.
  func fire(_ command: String) {
    lock.wait()
    commands.append(command)
    let known = loops
    lock.signal()
    CFRunLoopSourceSignal(source)
    for (loop, _) in known { CFRunLoopWakeUp(loop) }
  }

  private func scheduled(_ loop: CFRunLoop, _ mode: String) {
    note("schedule \(mode)")
    lock.wait()
    loops.append((loop, mode))
    lock.signal()
    isScheduled.signal()
  }

  private func cancelled(_ loop: CFRunLoop, _ mode: String) {
    lock.wait()
    let count = loops.count
    loops.removeAll { $0.loop === loop && $0.mode == mode }
    lock.signal()
    note("cancel \(mode) of \(count) same loop")
  }

  private func perform() {
    lock.wait()
    let taken = commands
    commands = []
    lock.signal()
    for command in taken {
      note("command \(command)")
      if command == "quit" {
        invalidate()
        note("left \(loops.count)")
      }
    }
  }
}

func commandBuffer() {
  let source = CommandSource()
  let thread = start {
    source.add()
    CFRunLoopRun()
    note("thread over")
  }
  source.isScheduled.wait()
  source.fire("one")
  source.fire("two")
  source.fire("quit")
  join(thread)
  log.section("a command buffer")
}

// MARK: - The main thread

func mainThread() {
  let loop = CFRunLoopGetMain()!
  note("current is main \(CFRunLoopGetCurrent() === loop)")
  onThread { note("another is not \(CFRunLoopGetCurrent() !== CFRunLoopGetMain())") }
  DispatchQueue.main.async {
    note("main queue")
    CFRunLoopStop(loop)
  }
  run(10)
  let other = start {
    usleep(2000)
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {
      note("from another thread")
      CFRunLoopStop(loop)
    }
    CFRunLoopWakeUp(loop)
  }
  run(10)
  join(other)
  log.section("the main thread")
}
