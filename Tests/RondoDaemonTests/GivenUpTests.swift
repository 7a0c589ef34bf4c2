import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestSupport
import Synchronization
import Testing

/// The loop cannot watch what tells of a signal, a child, a clock or a path: nothing goes deaf in silence.
@Suite struct GivenUpTests {
  @Test(.offThePool) func `a signal whose source cannot be watched acts by default again`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      inOwnProcess {
        let stage = Stage(.current)
        let source = try! stage.signal("s", SIGTERM)
        precondition(disposition(of: SIGTERM) > 1)
        replace(source)
        stage.loop.run(for: .zero)
        precondition(disposition(of: SIGTERM) == 0 && !source.isValid)
        precondition(source.failure == .descriptorClosed && stage.text == "")
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("signal 15 is given back, for its source cannot be told: its descriptor was closed"))
  }

  @Test func `a child that cannot be watched is told as unwatched, and left to its parent`() throws {
    try onLoopThread { stage in
      let source = try ChildSource(spawning: .init("sleep", ["1000"])) { source, exit in
        stage.note("\(exit.outcome == .unwatched(errno: EBADF)) \(source.isValid)")
      }
      let process = source.process
      stage.loop.add(source)
      replace(source)
      stage.loop.run(for: .zero)
      #expect(stage.text == "true false")
      kill(process, SIGKILL)
      var status: CInt = 0
      #expect(unsafe waitpid(process, &status, 0) == process)
    }
  }

  @Test func `a path that cannot be watched is told as failed`() throws {
    try onLoopThread { stage in
      let source = try PathSource("/tmp") { source, change in stage.note("\(change) \(source.isValid)") }
      stage.loop.add(source)
      replace(source)
      stage.loop.run(for: .zero)
      #expect(stage.text == "failed false")
      #expect(source.error == .unwatched("/tmp", errno: EBADF))
    }
  }

  @Test func `a path that can be watched no longer, after it changed, is told as failed`() throws {
    try onLoopThread { stage in
      let root = "/tmp/\(uniqueName())"
      unsafe mkdir(root, 0o700)
      defer { unsafe rmdir(root) }
      let source = try PathSource(root + "/a/b") { source, change in stage.note("\(change) \(source.isValid)") }
      stage.loop.add(source)
      #expect(source.error == nil && source.isValid)
      // A link to a name that is longer than any may be: ENAMETOOLONG.
      let long = String(repeating: "x", count: 300)
      #expect(unsafe symlink(long, root + "/a") == 0)
      stage.look()
      #expect(stage.text == "failed false")
      unsafe unlink(root + "/a")
    }
  }

  @Test func `a clock timer that cannot be watched is invalid and says why`() throws {
    try onLoopThread { stage in
      let timer = try ClockTimer(every: .seconds(3600)) { _, _ in stage.note("fired") }
      stage.loop.add(timer)
      replace(timer)
      stage.loop.run(for: .zero)
      #expect(!timer.isValid && timer.failure == .descriptorClosed && stage.text == "")
    }
  }
}

/// Has the number of a source's descriptor stand for another file.
private func replace(_ source: some DaemonSource) {
  let descriptor = (source.items[0] as! Loop.DescriptorSource).descriptor
  let other = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
  precondition(other >= 0 && dup2(other, descriptor) == descriptor)
  close(other)
}
