import Dispatch
import Glibc
import Rondo
import RondoGuests
import RondoTestSupport
import Synchronization
import Testing

// The examples of BesideOtherLoops.md. `print` is shadowed, so that each test can compare what the example prints.

/// The lines that an example has printed.
private final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  func add(_ line: String) { lines.withLock { $0.append(line) } }

  var all: [String] { lines.withLock { $0 } }
}

@Suite(.offThePool) struct BesideOtherLoopsTests {
  @Test func `a host that waits by poll serves a loop`() {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }
    // A thread of its own, whose loop nothing else runs.
    onThread {
      let loop = Loop.current
      loop.add(Loop.Timer(after: .milliseconds(20)) { _ in print("timer") })
      loop.perform { print("block") }
      let guest = Loop.Embedding(of: loop)
      var watched = pollfd(fd: guest.descriptor, events: Int16(POLLIN), revents: 0)
      while unsafe poll(&watched, 1, -1) == 1 || errno == EINTR {
        if guest.turn() == .finished { break }
      }
      guest.end()
    }
    #expect(lines.all == ["block", "timer"])
  }

  @Test func `a loop serves a guest that has a descriptor and a timeout`() throws {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }
    try LoopThread(name: "guest").sync {
      let loop = Loop.current
      let other = try OtherLoop { served in
        print(served)
        if served == "time is up" { loop.stop() }
      }
      other.makeReady()

      let guest = try Loop.GuestLoop(
        descriptor: other.descriptor, wait: { .milliseconds(other.timeout()) }, dispatch: { other.serve() })
      loop.add(guest, to: .common)

      #expect(loop.run() == .stopped)
      guest.invalidate()
    }
    #expect(lines.all == ["ready", "time is up"])
  }

  @Test func `a library gets the event base of a mode`() throws {
    let hasBase = try LoopThread(name: "libevent").sync {
      let loop = Loop.current
      var hasBase = false
      func startServer(on base: OpaquePointer) { hasBase = true }

      try unsafe loop.withEventBase { base in unsafe startServer(on: base) }

      return hasBase
    }
    #expect(hasBase)
  }

  @Test func `a queue of Dispatch signals a source of a loop`() throws {
    let lines = Lines()
    @Sendable func print(_ line: String) { lines.add(line) }
    let result = try LoopThread(name: "dispatch").sync {
      let loop = Loop.current

      let finished = Loop.Source { print("on the loop's thread") }
      loop.add(finished)
      DispatchQueue.global().async { finished.signal() }
      let result = loop.run(for: .seconds(60), returnAfterSourceHandled: true)

      finished.invalidate()
      return result
    }
    #expect(result == .handledSource)
    #expect(lines.all == ["on the loop's thread"])
  }

  /// Runs `body` on a thread that has no loop yet, and waits for it.
  private func onThread(_ body: @escaping @Sendable () -> Void) {
    let isDone = DispatchSemaphore(value: 0)
    DispatchQueue(label: "host").async {
      body()
      isDone.signal()
    }
    isDone.wait()
  }
}

/// Another library's loop: it waits by a pipe, for 10 ms at most.
private final class OtherLoop {
  private let ends: [CInt]
  private let report: (String) -> Void

  init(_ report: @escaping (String) -> Void) throws {
    var ends: [CInt] = [-1, -1]
    guard unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0, &ends) == 0 else {
      throw POSIXFailure(errno: errno)
    }
    self.ends = ends
    self.report = report
  }

  deinit { for end in ends { close(end) } }

  var descriptor: CInt { ends[0] }

  func makeReady() { _ = unsafe write(ends[1], [1], 1) }

  func timeout() -> CInt { 10 }

  func serve() {
    var byte: UInt8 = 0
    report(unsafe read(ends[0], &byte, 1) == 1 ? "ready" : "time is up")
  }
}

private struct POSIXFailure: Error { let errno: CInt }
