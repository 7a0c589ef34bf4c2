import Glibc
import RondoTestProcess
import RondoTestTraits
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
    loop.add(Loop.Timer(after: .milliseconds(1)) { _ in })
    for number in numbers(of: call) { refuseSystemCall(number, with: ENOMEM) }
    loop.run()
  }

  /// The kernel's numbers for what glibc makes of the call.
  private static func numbers(of call: String) -> [UInt32] {
    #if arch(x86_64)
      call == "epoll_wait(2)" ? [232, 281] : [286]
    #else
      call == "epoll_wait(2)" ? [22] : [86]
    #endif
  }
}
