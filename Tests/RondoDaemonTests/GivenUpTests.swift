import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestTraits
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

  @Test(arguments: [
    "ENETDOWN", "EPROTO", "ENOPROTOOPT", "EHOSTDOWN", "ENONET", "EHOSTUNREACH", "EOPNOTSUPP", "ENETUNREACH", "EPERM",
  ])
  func `a listener outlives an error that is a connection's`(_ error: String) throws {
    let name = uniqueName("outlives")
    try onLoopThread { stage in
      var command = ChildSource.Command(
        "strace",
        [
          // The tracer is the grandchild, and the signal goes to the program.
          "-D", "-f", "-o", "/dev/null", "-e", "trace=accept4", "-e", "inject=accept4:error=\(error):when=1",
          try program("rondo-echo"), "--listen", "@\(name)", "--threads", "0",
        ])
      command.output = .null
      command.error = .null
      let echo = try ChildSource(spawning: command) { _, exit in stage.note("\(exit)") }
      stage.loop.add(echo)
      let socket = try connectOnceItListens(to: name)
      try socket.send([1, 2, 3], timeout: .seconds(60))
      var query = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
      #expect(unsafe poll(&query, 1, 60_000) == 1)
      #expect(try socket.receive() == .bytes([1, 2, 3]))
      try echo.send(SIGTERM)
      stage.run { !echo.isValid }
    }
  }

  @Test func `a file that the kernel has no memory to tell of is not taken for none`() throws {
    let path = "/tmp/\(uniqueName("crontab"))"
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    // Whoever misses the error serves, and is told to stop.
    let text = Array("@start kill -TERM $PPID\n".utf8)
    #expect(unsafe write(file, text, text.count) == text.count)
    close(file)
    defer { unsafe unlink(path) }
    try onLoopThread { stage in
      var command = ChildSource.Command(
        "strace",
        [
          "-D", "-f", "-o", "/dev/null", "-P", path, "-e", "trace=newfstatat", "-e",
          "inject=newfstatat:error=ENOMEM:when=1", try program("rondo-cron"), path,
        ])
      command.output = .null
      let cron = try ChildSource(spawning: command) { _, exit in stage.note("\(exit.outcome == .exited(1))") }
      stage.loop.add(cron)
      stage.run { !cron.isValid }
      #expect(stage.text == "true")
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
