import Rondo
import RondoCoreFoundation
import RondoFoundation
import Testing

/// A RunLoop and its CFRunLoop are one loop.
@Suite struct OneLoopTests {
  /// Runs `body` on a thread of its own, with its run loop.
  private func onThread<Value: Sendable>(_ body: @escaping @Sendable (RunLoop) -> Value) throws -> Value {
    let thread = try LoopThread()
    defer { thread.stop() }
    return try thread.sync { body(.current) }
  }

  /// What a block and a closure share on one thread.
  private final class Log: @unchecked Sendable {
    var lines: [String] = []
  }

  @Test func `a timer of the CFRunLoop fires while the RunLoop runs`() throws {
    let lines = try onThread { runLoop in
      let log = Log()
      let timer = CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent(), 0, 0, 0) { _ in
        log.lines.append("timer")
        runLoop.stop()
      }
      CFRunLoopAddTimer(runLoop.getCFRunLoop(), timer, kCFRunLoopDefaultMode)
      runLoop.run(until: .distantFuture)
      return log.lines
    }
    #expect(lines == ["timer"])
  }

  @Test func `a timer of the RunLoop fires while the CFRunLoop runs`() throws {
    let result = try onThread { runLoop in
      let stopper = Timer(timeInterval: 0.001, repeats: false) { _ in CFRunLoopStop(runLoop.getCFRunLoop()) }
      runLoop.add(stopper, forMode: .default)
      return CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, false)
    }
    #expect(result == .stopped)
  }

  @Test func `on its own thread it is the current CFRunLoop, and the main one's is the main CFRunLoop`() throws {
    #expect(try onThread { $0.getCFRunLoop() === CFRunLoopGetCurrent() })
    #expect(try onThread { _ in RunLoop.main.getCFRunLoop() === CFRunLoopGetMain() })
  }

  @Test func `another thread finds the same object, and stops the run by it`() throws {
    let thread = try LoopThread()
    let own = try thread.sync { CFRunLoopGetCurrent().map { ObjectIdentifier($0) } }
    let loop = thread.runLoop.getCFRunLoop()
    #expect(ObjectIdentifier(loop) == own)
    let isDone = DispatchSemaphore(value: 0)
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode) { isDone.signal() }
    CFRunLoopWakeUp(loop)
    isDone.wait()
    thread.stop()
  }

  @Test func `the CFRunLoop of an ended thread does nothing`() throws {
    let thread = try LoopThread()
    let runLoop = thread.runLoop
    thread.stop()
    let loop = runLoop.getCFRunLoop()
    let timer = CFRunLoopTimerCreateWithHandler(nil, 0, 0, 0, 0) { _ in }
    CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode)
    #expect(!CFRunLoopContainsTimer(loop, timer, kCFRunLoopDefaultMode))
    CFRunLoopStop(loop)
    CFRunLoopWakeUp(loop)
  }
}
