import CoreFoundation
import Foundation

/// Starts a permanent thread, as everyone has written it, and returns its loop.
func startLoop() -> CFRunLoop {
  let made = Shared<CFRunLoop?>(nil)
  let isReady = DispatchSemaphore(value: 0)
  let thread = Thread {
    RunLoop.current.add(Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .default)
    made.value = CFRunLoopGetCurrent()
    isReady.signal()
    CFRunLoopRun()
  }
  thread.start()
  isReady.wait()
  return made.value!
}

func permanentThread() throws {
  let isDone = DispatchSemaphore(value: 0)
  let loop = startLoop()

  CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {
    note("work")
    isDone.signal()
  }
  CFRunLoopWakeUp(loop)

  isDone.wait()
  CFRunLoopStop(loop)
  section("permanent thread")
}

/// A client of a network thread.
final class Client {
  let isDone = DispatchSemaphore(value: 0)

  func received(_ count: Int) {
    note("received \(count)")
    isDone.signal()
  }
}

func networkThread() throws {
  var ends: [CInt] = [0, 0]
  socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
  let (descriptor, far) = (ends[0], ends[1])
  let client = Client()
  let network = startLoop()

  var context = CFSocketContext()
  context.info = Unmanaged.passUnretained(client).toOpaque()
  let socket = CFSocketCreateWithNative(
    nil, descriptor, CFSocketCallBackType.dataCallBack.rawValue,
    { _, _, _, data, info in
      let data = Unmanaged<CFData>.fromOpaque(data!).takeUnretainedValue()
      Unmanaged<Client>.fromOpaque(info!).takeUnretainedValue().received(CFDataGetLength(data))
    }, &context)
  CFRunLoopAddSource(network, CFSocketCreateRunLoopSource(nil, socket, 0), kCFRunLoopDefaultMode)
  CFRunLoopWakeUp(network)

  write(far, [1, 2, 3], 3)
  client.isDone.wait()
  CFRunLoopStop(network)
  section("network thread")
}

func stalls() throws {
  let loop = startLoop()

  let isAwake = Shared(false)
  let turn = DispatchSemaphore(value: 0)
  let isNoticed = DispatchSemaphore(value: 0)
  let observer = CFRunLoopObserverCreateWithHandler(
    nil, CFRunLoopActivity.allActivities.rawValue, true, 0
  ) { _, activity in
    isAwake.value = activity != .beforeWaiting && activity != .exit
    turn.signal()
  }
  CFRunLoopAddObserver(loop, observer, kCFRunLoopCommonModes)
  Thread.detachNewThread {
    while true {
      guard turn.wait(timeout: .now() + .milliseconds(50)) == .timedOut, isAwake.value else { continue }
      note("stall")
      isNoticed.signal()
      return
    }
  }

  let isOver = DispatchSemaphore(value: 0)
  CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {
    isNoticed.wait()
    isOver.signal()
  }
  CFRunLoopWakeUp(loop)
  isOver.wait()
  CFRunLoopStop(loop)
  section("stalls")
}

func processor() throws {
  let loop = startLoop()
  let isOver = DispatchSemaphore(value: 0)
  let isNoticed = Shared(false)
  var thread = pthread_t()
  let isKnown = DispatchSemaphore(value: 0)
  CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) {
    thread = pthread_self()
    isKnown.signal()
    while !isNoticed.value {}
    isOver.signal()
  }
  CFRunLoopWakeUp(loop)
  isKnown.wait()

  var clock = clockid_t()
  pthread_getcpuclockid(thread, &clock)
  var before = timespec()
  clock_gettime(clock, &before)
  while !isNoticed.value {
    usleep(100_000)
    var now = timespec()
    clock_gettime(clock, &now)
    let seconds = Double(now.tv_sec - before.tv_sec) + Double(now.tv_nsec - before.tv_nsec) / 1e9
    before = now
    if seconds / 0.1 > 0.1 { isNoticed.value = true }
  }
  note("busy")

  isOver.wait()
  CFRunLoopStop(loop)
  section("processor")
}

/// Commands of other threads for a loop, which must not outlive them.
final class Commands {
  let isDone = DispatchSemaphore(value: 0)
  private let lock = NSLock()
  private var pending: [String] = []
  private var source: CFRunLoopSource!
  private let loop: CFRunLoop

  init(on loop: CFRunLoop) {
    self.loop = loop
    var context = CFRunLoopSourceContext()
    context.info = Unmanaged.passUnretained(self).toOpaque()
    context.perform = { Unmanaged<Commands>.fromOpaque($0!).takeUnretainedValue().perform() }
    source = CFRunLoopSourceCreate(nil, 0, &context)
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
  }

  func send(_ command: String) {
    lock.lock()
    pending.append(command)
    lock.unlock()
    CFRunLoopSourceSignal(source)
    CFRunLoopWakeUp(loop)
  }

  private func perform() {
    lock.lock()
    let commands = pending
    pending = []
    lock.unlock()
    for command in commands { note(command) }
    if commands.last == "close" { isDone.signal() }
  }
}

func commands() throws {
  let loop = startLoop()
  let commands = Commands(on: loop)
  commands.send("open")
  commands.send("close")
  commands.isDone.wait()
  withExtendedLifetime(commands) { CFRunLoopStop(loop) }
  section("commands")
}
