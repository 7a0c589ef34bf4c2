import RondoCoreFoundation
import Testing

// The example of RondoCoreFoundation.docc, compiled and run. `DocumentationTextTests` sees to it that it stands in the
// documentation as it stands here.

@Suite struct CFExamplesTests {
  @Test func `RondoCoreFoundation: a timer in the common modes`() {
    let loop = CFRunLoopGetCurrent()
    let timer = CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent() + 0.01, 0.01, 0, 0) { timer in
      print("tick")
      CFRunLoopTimerInvalidate(timer)
    }
    CFRunLoopAddTimer(loop, timer, CFRunLoopMode.commonModes)
    let result = CFRunLoopRunInMode(CFRunLoopMode.defaultMode, 10, false)
    print(result == .finished)
    #expect(result == .finished)
  }
}
