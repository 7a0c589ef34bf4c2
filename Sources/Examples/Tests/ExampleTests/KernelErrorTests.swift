import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import Testing

/// The examples under errors of the kernel, injected into a system call each.
@Suite struct KernelErrorTests {
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
    // A daemon that misses the error serves, and is told to stop.
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
