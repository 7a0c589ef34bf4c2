// A file that was not ported: whatever it does, it does with Foundation's own run loop.

import CoreFoundation
import Foundation

/// Foundation's things on the calling thread's loop of Foundation's, each of which reports once.
final class Unported: NSObject, @unchecked Sendable {
  private let report: (String) -> Void
  private var pipes: [Pipe] = []
  private let center = NotificationCenter()

  init(_ report: @escaping (String) -> Void) { self.report = report }

  func schedule() {
    let report = report
    _ = Timer.scheduledTimer(withTimeInterval: 0.02, repeats: false) { _ in report("timer") }
    RunLoop.current.perform { report("perform") }
    notify("asap", .asap)
    notify("idle", .whenIdle)
  }

  private func notify(_ name: String, _ style: NotificationQueue.PostingStyle) {
    let report = report
    _ = center.addObserver(forName: Notification.Name(name), object: nil, queue: nil) { _ in report(name) }
    NotificationQueue(notificationCenter: center).enqueue(
      Notification(name: Notification.Name(name)), postingStyle: style)
  }

  /// Tells of what arrives in pipes, in the two ways that FileHandle has for a run loop.
  func listen() {
    let report = report
    let (waiting, reading) = (Pipe(), Pipe())
    pipes = [waiting, reading]
    var tokens: [Any] = []
    tokens.append(
      NotificationCenter.default.addObserver(
        forName: .NSFileHandleDataAvailable, object: waiting.fileHandleForReading, queue: nil
      ) { _ in report("data available") })
    tokens.append(
      NotificationCenter.default.addObserver(
        forName: FileHandle.readCompletionNotification, object: reading.fileHandleForReading, queue: nil
      ) { note in
        let data = note.userInfo?[NSFileHandleNotificationDataItem] as? Data
        report("read \(String(decoding: data ?? Data(), as: UTF8.self))")
      })
    waiting.fileHandleForReading.waitForDataInBackgroundAndNotify()
    reading.fileHandleForReading.readInBackgroundAndNotify()
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) {
      waiting.fileHandleForWriting.write(Data("x".utf8))
      reading.fileHandleForWriting.write(Data("abc".utf8))
    }
  }
}

/// Runs the calling thread's loop of Foundation's.
func runFoundation(for seconds: TimeInterval) { RunLoop.current.run(until: Date(timeIntervalSinceNow: seconds)) }
func runFoundationUntilEmpty() { RunLoop.current.run() }
func runFoundationUntilStopped() { CFRunLoopRun() }
/// Returns when a source was handled.
func runFoundationOnce() { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
func runFoundation(until isDone: () -> Bool) { while !isDone() { runFoundationOnce() } }
/// Goes round and round without sleeping, as some do who wait for something.
func pollFoundation(until isDone: () -> Bool) {
  while !isDone() { _ = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true) }
}

/// Makes the thread's loop of Foundation's, as any use does.
func touchFoundation() { _ = CFRunLoopGetCurrent() }
/// How many turns a run takes in a mode in which nothing comes.
func idleTurnsOfFoundation(in mode: String, for seconds: TimeInterval) -> Int {
  let timer = Timer(timeInterval: 60, repeats: false) { _ in }
  RunLoop.current.add(timer, forMode: RunLoop.Mode(mode))
  var turns = 0
  let observer = CFRunLoopObserverCreateWithHandler(nil, CFRunLoopActivity.beforeTimers.rawValue, true, 0) { _, _ in
    turns += 1
  }
  let utf8 = CFStringEncoding(CFStringBuiltInEncodings.UTF8.rawValue)
  CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, CFStringCreateWithCString(nil, mode, utf8))
  _ = RunLoop.current.run(mode: RunLoop.Mode(mode), before: Date(timeIntervalSinceNow: seconds))
  CFRunLoopObserverInvalidate(observer)
  timer.invalidate()
  return turns
}
func stopFoundation() { CFRunLoopStop(CFRunLoopGetCurrent()) }
func performInFoundation(_ body: @escaping () -> Void) {
  CFRunLoopPerformBlock(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode, body)
}
/// From any thread.
func performInMainOfFoundation(_ body: @escaping @Sendable () -> Void) {
  RunLoop.main.perform(body)
  CFRunLoopWakeUp(CFRunLoopGetMain())
}
func onFoundationTimer(after seconds: TimeInterval, _ body: @escaping () -> Void) {
  _ = Timer.scheduledTimer(withTimeInterval: seconds, repeats: false) { _ in body() }
}
func onEachFoundationTick(_ seconds: TimeInterval, _ body: @escaping () -> Bool) {
  _ = Timer.scheduledTimer(withTimeInterval: seconds, repeats: true) { timer in if !body() { timer.invalidate() } }
}

/// A source of Foundation's that is signalled by hand from any thread.
final class HandSource: @unchecked Sendable {
  private let loop: CFRunLoop = CFRunLoopGetCurrent()
  private var source: CFRunLoopSource! = nil
  private let body: () -> Void

  init(mode: String? = nil, _ body: @escaping () -> Void) {
    self.body = body
    var context = CFRunLoopSourceContext()
    context.info = Unmanaged.passUnretained(self).toOpaque()
    context.perform = { Unmanaged<HandSource>.fromOpaque($0!).takeUnretainedValue().body() }
    source = CFRunLoopSourceCreate(nil, 0, &context)
    let name = mode.map { CFStringCreateWithCString(nil, $0, 0x0800_0100)! }
    CFRunLoopAddSource(loop, source, name ?? kCFRunLoopDefaultMode)
  }

  func signal() {
    CFRunLoopSourceSignal(source)
    CFRunLoopWakeUp(loop)
  }

  func invalidate() { CFRunLoopSourceInvalidate(source) }
}

func startSleeping(_ seconds: String) -> Process {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/bin/sleep")
  process.arguments = [seconds]
  try! process.run()
  return process
}

enum Unmoded {
  nonisolated(unsafe) private static var kept: [HandSource] = []

  static func schedule(_ mode: String, _ body: @escaping () -> Void) {
    let timer = Timer(timeInterval: 0.01, repeats: true) { timer in
      body()
      timer.invalidate()
    }
    timer.fireDate = Date(timeIntervalSinceNow: 0.01)
    RunLoop.current.add(timer, forMode: RunLoop.Mode(mode))
    // A timer does not end a run; this does.
    let hand = HandSource(mode: mode) {}
    kept.append(hand)
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { hand.signal() }
  }
}

/// Calls `body` on each entry of the thread's loop of Foundation's, until what it returns is called.
func onEachEntryOfFoundation(_ body: @escaping () -> Void) -> () -> Void { observeFoundation(.entry, body) }

/// The same for each of its sleeps.
func onEachSleepOfFoundation(_ body: @escaping () -> Void) -> () -> Void { observeFoundation(.beforeWaiting, body) }

private func observeFoundation(_ activity: CFRunLoopActivity, _ body: @escaping () -> Void) -> () -> Void {
  let observer = CFRunLoopObserverCreateWithHandler(nil, activity.rawValue, true, 0) { _, _ in body() }
  CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, kCFRunLoopDefaultMode)
  return { CFRunLoopObserverInvalidate(observer) }
}

/// The loop of the thread that made it, for other threads.
final class FoundationLoop: @unchecked Sendable {
  private let loop: CFRunLoop = CFRunLoopGetCurrent()
  private var source: CFRunLoopSource?
  private var body: () -> Void = {}

  /// Has the loop call `body` once: by a source, a block or a timer.
  func give(_ way: String, _ body: @escaping @Sendable () -> Void) {
    switch way {
    case "source":
      self.body = body
      var context = CFRunLoopSourceContext()
      context.info = Unmanaged.passUnretained(self).toOpaque()
      context.perform = {
        let it = Unmanaged<FoundationLoop>.fromOpaque($0!).takeUnretainedValue()
        CFRunLoopSourceInvalidate(it.source)
        it.body()
      }
      source = CFRunLoopSourceCreate(nil, 0, &context)
      CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
      CFRunLoopSourceSignal(source)
      CFRunLoopWakeUp(loop)
    case "block":
      CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, body)
      CFRunLoopWakeUp(loop)
    default:
      let date = CFAbsoluteTimeGetCurrent() + 0.01
      let timer = CFRunLoopTimerCreateWithHandler(nil, date, 0, 0, 0) { _ in body() }
      CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
    }
  }
}
