import Dispatch
import Glibc
import RondoTestSupport
import Testing

@testable import Rondo

/// A loop that the kernel refuses what it cannot do without ends its process with the cause.
@Suite struct WaitFailureTests {
  @Test(.offThePool, arguments: ["epoll_wait(2)", "timerfd_settime(2)"])
  func `a refused wait ends the process with the errno's meaning`(_ call: String) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [call] in
      WaitRefusal.run(refusing: call)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("\(call) failed with errno 12 (out of memory)"))
    #expect(!text.contains("closed behind its back"))
  }

  @Test(.offThePool) func `a thread whose loop may watch nothing is not started, and leaves no descriptor`() async {
    await #expect(processExitsWith: .success) { WaitRefusal.startThread() }
  }

  @Test(arguments: [(EBADF, true), (EINVAL, true), (ENOENT, true), (EPERM, true), (ENOMEM, false), (ENOSPC, false)])
  func `the errnos of a number that stands for another file are told from those of the kernel`(
    _ error: CInt, _ isClosed: Bool
  ) {
    #expect(WaitFailure.isOfClosedDescriptor(error) == isClosed)
  }
}

/// What the exit tests do.
private enum WaitRefusal {
  static func run(refusing call: String) {
    let loop = Loop.current
    // Far away, so that the loop sleeps however slow the machine is.
    loop.add(Loop.Timer(after: .seconds(3_600)) { _ in })
    for number in numbers(of: call) { refuseSystemCall(number, with: ENOMEM) }
    loop.run()
  }

  static func startThread() {
    // What is made once in a process is made before.
    _ = Loop.current
    // Dispatch watches descriptors as well, from the first use of its timers on.
    let hasWaited = DispatchSemaphore(value: 0)
    DispatchQueue.global().asyncAfter(deadline: .now()) { hasWaited.signal() }
    hasWaited.wait()
    for number in numbers(of: "epoll_ctl(2)") { refuseSystemCall(number, with: ENOSPC) }
    let kinds = ["[eventfd]", "[timerfd]", "[eventpoll]"]
    let before = kinds.map { descriptors(of: $0) }
    let attempts = 8
    for _ in 0..<attempts {
      do throws(LoopThread.StartError) {
        _ = try LoopThread(name: "deaf")
        exit(1)
      } catch {
        guard error == .noDescriptors(errno: ENOSPC), "\(error)".contains("max_user_watches") else { exit(2) }
      }
    }
    // Dispatch opens its own when it wants; a thread that leaves one leaves as many as there were attempts.
    exit(zip(kinds, before).allSatisfy { descriptors(of: $0) - $1 < attempts } ? EXIT_SUCCESS : 3)
  }

  /// The kernel's numbers for what glibc makes of the call.
  static func numbers(of call: String) -> [UInt32] {
    #if arch(x86_64)
      let (wait, arm, control): ([UInt32], UInt32, UInt32) = ([232, 281], 286, 233)
    #else
      let (wait, arm, control): ([UInt32], UInt32, UInt32) = ([22], 86, 21)
    #endif
    return ["epoll_wait(2)": wait, "timerfd_settime(2)": [arm], "epoll_ctl(2)": [control]][call]!
  }
}
