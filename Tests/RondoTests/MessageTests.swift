import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Synchronization
import Testing

/// Where the library's messages go. Each test has a process of its own, since the function is the process's.
@Suite struct MessageTests {
  @Test(.offThePool) func `messages go to the program's function, and nothing to stderr`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { Program.receive() }
    #expect(result?.standardErrorContent.isEmpty == true)
  }

  @Test(.offThePool) func `without a function they are lines on stderr`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { Program.giveBack() }
    #expect(String(decoding: result?.standardErrorContent ?? [], as: UTF8.self) == "Rondo: two\n")
  }

  @Test(.offThePool) func `a function may set another one, and post to a loop`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { Program.nest() }
    #expect(result?.standardErrorContent.isEmpty == true)
  }

  @Test(.offThePool) func `a forked child begins with stderr`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { Program.fork() }
    #expect(String(decoding: result?.standardErrorContent ?? [], as: UTF8.self) == "Rondo: child\n")
  }
}

/// What the processes do.
private enum Program {
  static func receive() {
    let log = Trace()
    Loop.setMessageHandler { log.note($0) }

    warn("one")
    precondition(log.text == "one")
  }

  static func giveBack() {
    let log = Trace()
    Loop.setMessageHandler { log.note($0) }
    warn("one")
    Loop.setMessageHandler(nil)
    warn("two")
    precondition(log.text == "one")
  }

  static func nest() {
    let log = Trace()
    let loop = Loop.current
    Loop.setMessageHandler { text in
      Loop.setMessageHandler { log.note("second: \($0)") }
      loop.perform { log.note("first: \(text)") }
    }
    warn("one")
    warn("two")
    loop.run(for: .zero)
    precondition(log.text == "second: two first: one")
  }

  static func fork() {
    Loop.setMessageHandler { _ in preconditionFailure("The parent's function was called.") }
    let child = forkProcess()
    if child == 0 {
      warn("child")
      _exit(0)
    }
    precondition(end(of: child) == .exit(0))
  }
}
