import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

/// Descriptor sources on the real kernel: peers that go, descriptors that are no good, and nothing that spins.
@Suite struct DescriptorFailureTests {
  // MARK: - The peer

  @Test func `a peer that closes is told to a source that asked for that alone, once`() {
    let (text, turns) = onLoopThread { stage in
      let sockets = stage.sockets()
      stage.descriptor("", sockets.near, for: .closed) { _, readiness in stage.note("\(readiness)") }
      stage.loop.run(for: .zero)
      stage.note("|")
      sockets.closeFar()
      stage.runUntilHandled()
      stage.loop.run(for: .milliseconds(20))
      return (stage.text, stage.loop.statistics.turns)
    }
    #expect(text == "|  closed")
    #expect(turns <= 5)
  }

  @Test func `a peer that closes is told although there is unread data`() {
    let (text, turns) = onLoopThread { stage in
      let sockets = stage.sockets()
      stage.descriptor("d", sockets.near, for: .closed)
      sockets.send()
      stage.loop.run(for: .milliseconds(20))
      stage.note("|")
      sockets.closeFar()
      stage.runUntilHandled()
      stage.loop.run(for: .milliseconds(20))
      return (stage.text, stage.loop.statistics.turns)
    }
    #expect(text == "| d")
    #expect(turns <= 6)
  }

  @Test func `a peer that closes its sending side is told`() {
    let text = onLoopThread { stage in
      let sockets = stage.sockets()
      stage.descriptor("d", sockets.near, for: .closed)
      shutdown(sockets.far, CInt(SHUT_WR))
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "d")
  }

  @Test func `the writer of a pipe that closes is told to its reader`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.reader, for: .closed)
      stage.loop.run(for: .zero)
      stage.note("|")
      pipe.closeWriter()
      stage.runUntilHandled()
      return stage.text
    }
    #expect(text == "| d")
  }

  @Test func `the reader of a pipe that closes is told to its writer`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.writer, for: .closed)
      stage.loop.run(for: .zero)
      stage.note("|")
      pipe.closeReader()
      stage.runUntilHandled()
      return stage.text
    }
    #expect(text == "| d")
  }

  @Test func `end of file is readable until the source goes`() {
    let text = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.reader) { source, _ in if stage.text == "d d" { source.invalidate() } }
      pipe.closeWriter()
      stage.loop.run()
      return stage.text
    }
    #expect(text == "d d")
  }

  // MARK: - No good from the start

  @Test func `a negative descriptor is refused`() {
    #expect(throws: Loop.DescriptorError.notOpen(-1)) { try Loop.DescriptorSource(-1, for: .read) { _, _ in } }
  }

  @Test func `a number that is not open is refused`() {
    #expect(throws: Loop.DescriptorError.notOpen(1_000_000)) {
      try Loop.DescriptorSource(1_000_000, for: .read) { _, _ in }
    }
  }

  @Test(arguments: ["/proc/self/exe", "/"])
  func `a regular file or a directory is refused`(_ path: String) {
    let descriptor = unsafe open(path, O_RDONLY)
    defer { close(descriptor) }
    #expect(throws: Loop.DescriptorError.notPollable(descriptor)) {
      try Loop.DescriptorSource(descriptor, for: .read) { _, _ in }
    }
  }

  @Test(.offThePool) func `a descriptor that epoll refuses is not a word on stderr`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { refuseNull() }
    #expect(result?.complaint == "")
  }

  @Test(.offThePool, arguments: [true, false])
  func `a closed descriptor whose source waits for something else is not a word on stderr`(_ isReused: Bool) async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { [isReused] in
      changeClosed(isReused)
    }
    #expect(result?.complaint == "")
  }

  @Test(.offThePool) func `libevent's log stays the program's`() async {
    await #expect(processExitsWith: .success) { keepLog() }
  }

  @Test func `a descriptor that epoll refuses becomes invalid with the reason`() {
    let (reason, result) = onLoopThread { stage in
      let null = unsafe open("/dev/null", O_RDWR)
      defer { close(null) }
      let source = stage.descriptor("d", null)
      let result = stage.loop.run(for: .seconds(60))
      return (source.invalidationReason, result)
    }
    #expect(reason == .refused(errno: EPERM))
    #expect(result == .finished)
  }

  @Test func `a source that is added by the end of a refused one is watched in the same sleep`() {
    let (text, result) = onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.write(1)
      let null = unsafe open("/dev/null", O_RDWR)
      defer { close(null) }
      var next: AtDeath? = AtDeath { stage.descriptor("d", pipe.reader) }
      stage.keepAlive()
      stage.loop.add(try! Loop.DescriptorSource(null, for: .read) { [next] _, _ in _ = next })
      next = nil
      let result = stage.loop.run(for: .seconds(2), returnAfterSourceHandled: true)
      return (stage.text, result)
    }
    #expect(text == "d")
    #expect(result == .handledSource)
  }

  @Test(.offThePool) func `a source that another thread invalidates while the loop gives up its file leaves at once`()
    async
  {
    await #expect(processExitsWith: .success) {
      // A loop that rejects a source again and again never ends its turn.
      endProcess(after: 30)
      let (text, result) = onLoopThread { stage in
        let (first, second) = (stage.pipe(), stage.pipe())
        stage.keepAlive()
        let other = stage.descriptor("other", second.reader)
        // The handler's end, on the loop's thread, after both have been found to be closed.
        var end: AtDeath? = AtDeath {
          TestThread { other.invalidate() }.join()
          stage.note("end")
        }
        let source = try! Loop.DescriptorSource(first.reader, for: .read) { [end] _, _ in _ = end }
        stage.loop.add(source)
        end = nil
        stage.loop.run(for: .zero)
        for pipe in [first, second] { pipe.replaceReader(with: nil) }
        for source in [source, other] { source.enable(.closed) }
        let result = stage.loop.run(for: .zero)
        return (stage.text + " \(other.isInLoop)", result)
      }
      #expect(text == "end false")
      #expect(result == .timedOut)
    }
  }

  @Test func `a source of the other trigger on one descriptor becomes invalid with the reason`() {
    let (text, reason) = onLoopThread { stage in
      let pipe = stage.pipe()
      pipe.write(1)
      stage.descriptor("level", pipe.reader)
      let second = stage.descriptor("edge", pipe.reader, trigger: .edge)
      stage.loop.run(for: .zero)
      return (stage.text, second.invalidationReason)
    }
    #expect(text == "level")
    #expect(reason == .mixedTriggers)
  }

  @Test func `a source invalidated by hand has no reason`() {
    let reason = onLoopThread { stage in
      let source = stage.descriptor("d", stage.pipe().reader)
      source.invalidate()
      return source.invalidationReason
    }
    #expect(reason == nil)
  }

  // MARK: - Closed behind the loop's back

  @Test func `a descriptor closed before it was watched makes its source invalid`() {
    let (reason, result) = onLoopThread { stage in
      let pipe = stage.pipe()
      let source = stage.descriptor("d", pipe.reader)
      pipe.replaceReader(with: nil)
      let result = stage.loop.run(for: .seconds(60))
      return (source.invalidationReason, result)
    }
    #expect(reason == .descriptorClosed)
    #expect(result == .finished)
  }

  @Test func `a descriptor whose number was reused before it was watched makes its source invalid`() {
    let (text, reason) = onLoopThread { stage in
      let (pipe, other) = (stage.pipe(), stage.pipe())
      let source = stage.descriptor("d", pipe.reader)
      pipe.replaceReader(with: other.reader)
      other.write(1)
      stage.loop.run(for: .milliseconds(20))
      return (stage.text, source.invalidationReason)
    }
    #expect(text == "")
    #expect(reason == .descriptorClosed)
  }

  @Test func `a watched descriptor that is closed neither spins nor is told`() {
    let (text, turns) = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.keepAlive()
      stage.descriptor("d", pipe.reader)
      stage.loop.run(for: .zero)
      pipe.replaceReader(with: nil)
      stage.loop.run(for: .milliseconds(20))
      return (stage.text, stage.loop.statistics.turns)
    }
    #expect(text == "")
    #expect(turns <= 5)
  }

  @Test func `a source whose watched descriptor was closed can be invalidated without a trace`() {
    let (text, turns) = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.keepAlive()
      let source = stage.descriptor("d", pipe.reader)
      stage.loop.run(for: .zero)
      pipe.replaceReader(with: nil)
      source.invalidate()
      stage.loop.run(for: .milliseconds(20))
      return (stage.text, stage.loop.statistics.turns)
    }
    #expect(text == "")
    #expect(turns <= 5)
  }

  @Test func `a closed descriptor that lives on as a duplicate does not spin once its source is gone`() {
    let (text, turns, sleeps) = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.keepAlive()
      let source = stage.descriptor("d", pipe.reader)
      stage.loop.run(for: .zero)
      let second = duplicate(pipe.reader)
      defer { close(second) }
      pipe.replaceReader(with: nil)
      source.invalidate()
      // The kernel would report the duplicate's file for ever.
      pipe.write(1)
      stage.loop.run(for: .milliseconds(20))
      return (stage.text, stage.loop.statistics.turns, stage.loop.statistics.sleeps)
    }
    #expect(text == "")
    #expect(turns <= 5)
    #expect(sleeps <= 3)
  }

  @Test func `the other sources outlast the repair after a descriptor was closed`() {
    let text = onLoopThread { stage in
      let (pipe, level, edge) = (stage.pipe(), stage.pipe(), stage.pipe())
      let source = stage.descriptor("d", pipe.reader)
      stage.descriptor("level", level.reader, order: 1) { _, _ in level.drain() }
      stage.descriptor("edge", edge.reader, trigger: .edge, order: 2) { _, _ in edge.drain() }
      stage.loop.run(for: .zero)
      let second = duplicate(pipe.reader)
      defer { close(second) }
      pipe.replaceReader(with: nil)
      source.invalidate()
      for _ in 0..<2 {
        for pipe in [level, edge] { pipe.write(1) }
        stage.loop.run(for: .zero)
      }
      return stage.text
    }
    #expect(text == "level edge level edge")
  }

  @Test func `a new source on a reused number is told, and the old one becomes invalid`() {
    let (text, reason) = onLoopThread { stage in
      let (pipe, other) = (stage.pipe(), stage.pipe())
      let old = stage.descriptor("old", pipe.reader)
      stage.loop.run(for: .zero)
      pipe.replaceReader(with: other.reader)
      stage.descriptor("new", pipe.reader)
      other.write(1)
      stage.loop.run(for: .zero)
      return (stage.text, old.invalidationReason)
    }
    #expect(text == "new")
    #expect(reason == .descriptorClosed)
  }

  @Test func `a new source on a reused number is told although the old file looked alike`() {
    let text = onLoopThread { stage in
      // Eventfds share one inode, so nothing tells the two apart.
      let (first, second) = (makeEventDescriptor(), makeEventDescriptor())
      stage.descriptor("old", first, order: 0)
      stage.loop.run(for: .zero)
      dup2(second, first)
      close(second)
      defer { close(first) }
      stage.descriptor("new", first, order: 1)
      signalEventDescriptor(first)
      stage.loop.run(for: .zero)
      return stage.trace.tokens.contains("new")
    }
    #expect(text)
  }

  @Test func `interest set after the number was reused makes the source invalid instead of watching the wrong file`() {
    let (text, reason) = onLoopThread { stage in
      let (pipe, other) = (stage.pipe(), stage.pipe())
      stage.keepAlive()
      let source = stage.descriptor("d", pipe.reader)
      source.disable(.read)
      stage.loop.run(for: .zero)
      pipe.replaceReader(with: other.reader)
      other.write(1)
      source.enable(.read)
      stage.loop.run(for: .zero)
      return (stage.text, source.invalidationReason)
    }
    #expect(text == "")
    #expect(reason == .descriptorClosed)
  }

  @Test(arguments: [true, false], 0..<4)
  func `a change of interest after the number was reused makes the source invalid`(_ isUnique: Bool, _ change: Int) {
    let (text, reason, turns) = onLoopThread { stage in
      // Eventfds share one inode: only the kernel can tell them apart.
      let descriptors = isUnique ? [stage.sockets().near, stage.sockets().near] : makeEventDescriptors(stage)
      stage.keepAlive()
      let source = stage.descriptor("d", descriptors[0], for: change < 2 ? .read : [.read, .closed])
      stage.loop.run(for: .zero)
      let duplicate = duplicate(descriptors[0])
      defer { close(duplicate) }
      dup2(descriptors[1], descriptors[0])
      switch change {
      case 0: source.enable(.write)
      case 1: source.disable(.read)
      case 2: source.disable(.closed)
      default: source.disable(.read)
      }
      for _ in 0..<2 { stage.loop.run(for: .zero) }
      let before = stage.loop.statistics.turns
      stage.loop.run(for: .milliseconds(20))
      return (stage.text, source.invalidationReason, stage.loop.statistics.turns - before)
    }
    #expect(text == "")
    #expect(reason == .descriptorClosed)
    #expect(turns <= 2)
  }

  @Test func `all sources of a reused number become invalid when one of them changes its interest`() {
    let reasons = onLoopThread { stage in
      let (sockets, others) = (stage.sockets(), stage.sockets())
      stage.keepAlive()
      let sources = (0..<3).map { stage.descriptor("\($0)", sockets.near) }
      stage.loop.run(for: .zero)
      dup2(others.near, sockets.near)
      sources[1].enable(.write)
      stage.loop.run(for: .zero)
      return sources.map(\.invalidationReason)
    }
    #expect(reasons == [.descriptorClosed, .descriptorClosed, .descriptorClosed])
  }

  /// What one source's handler captured dies while the loop takes out another one of the same number.
  @Test func `a source whose removal is the end of another one may be taken out altogether by it`() {
    let (reason, isIn, free) = onLoopThread { stage in
      let (loop, other) = (stage.loop, Loop.Mode("other"))
      let (sockets, others) = (stage.sockets(), stage.sockets())
      let source = stage.descriptor("read", sockets.near)
      loop.add(source, to: other)
      let writer = makeWriter(sockets.near) { loop.remove(source, from: other) }
      loop.add(writer)
      for mode in [.default, other] { loop.run(in: mode, for: .zero) }
      dup2(others.near, sockets.near)
      loop.remove(source)
      loop.checkInvariants()
      return (
        writer.invalidationReason, loop.contains(source) || loop.contains(source, in: other),
        TestThread { Loop.current.add(source) }.join()
      )
    }
    #expect(reason == .descriptorClosed)
    #expect(!isIn)
    #expect(free)
  }

  @Test func `a new source on a reused number makes the old one invalid although their files look alike`() {
    let (text, reason) = onLoopThread { stage in
      let descriptors = makeEventDescriptors(stage)
      let old = stage.descriptor("old", descriptors[0])
      stage.loop.run(for: .zero)
      dup2(descriptors[1], descriptors[0])
      stage.descriptor("new", descriptors[0])
      signalEventDescriptor(descriptors[1])
      stage.loop.run(for: .zero)
      return (stage.text, old.invalidationReason)
    }
    #expect(text == "new")
    #expect(reason == .descriptorClosed)
  }

  @Test func `a number reused after its source was invalidated is watched anew`() {
    let text = onLoopThread { stage in
      let (pipe, other) = (stage.pipe(), stage.pipe())
      let old = stage.descriptor("old", pipe.reader)
      stage.loop.run(for: .zero)
      old.invalidate()
      pipe.replaceReader(with: other.reader)
      stage.descriptor("new", pipe.reader)
      other.write(1)
      stage.loop.run(for: .zero)
      return stage.text
    }
    #expect(text == "new")
  }

  // MARK: - Closing

  @Test func `a source closes its descriptor when it is invalidated, if asked to`() {
    let isClosed = onLoopThread { stage in
      let pipe = stage.pipe()
      let source = stage.descriptor("d", duplicate(pipe.writer), for: .write, closesOnInvalidation: true)
      pipe.closeWriter(isDuplicated: true)
      stage.loop.run(for: .zero)
      #expect(pipe.isAtEnd == false)
      source.invalidate()
      return pipe.waitForEnd()
    }
    #expect(isClosed)
  }

  @Test func `a source that was never added closes its descriptor too`() throws {
    let pipe = TestPipe()
    let source = try Loop.DescriptorSource(duplicate(pipe.writer), for: .write, closesOnInvalidation: true) { _, _ in }
    pipe.closeWriter(isDuplicated: true)
    source.invalidate()
    #expect(pipe.waitForEnd())
  }

  @Test func `a source closes its descriptor when its loop's thread ends`() {
    let pipe = onLoopThread { stage in
      let pipe = TestPipe()
      stage.descriptor("d", duplicate(pipe.writer), for: .write, closesOnInvalidation: true)
      pipe.closeWriter(isDuplicated: true)
      stage.loop.run(for: .zero)
      return pipe
    }
    #expect(pipe.waitForEnd())
  }

  @Test func `a source invalidated from another thread closes its descriptor when the loop has let go of it`() {
    let pipe = TestPipe()
    let source = Handover<Loop.DescriptorSource>()
    let running = RunningLoop { loop in
      let stage = Stage(loop)
      source.put(
        stage.descriptor("d", duplicate(pipe.writer), for: .write, closesOnInvalidation: true) { source, _ in
          source.disable(.write)
        })
    }
    pipe.closeWriter(isDuplicated: true)
    running.waitUntilAsleep()
    source.take().invalidate()
    #expect(pipe.waitForEnd())
    running.stop()
  }

  @Test func `a source does not close the stranger that has its number by the time it is invalidated`() {
    let (isOpen, isWatchedOpen) = onLoopThread { stage in
      func isStrangerOpen(watched: Bool) -> Bool {
        let (pipe, other) = (stage.pipe(), stage.pipe())
        let source = stage.descriptor("d", pipe.reader, closesOnInvalidation: true)
        if watched { stage.loop.run(for: .zero) }
        pipe.replaceReader(with: other.reader)
        source.invalidate()
        return fcntl(pipe.reader, F_GETFD) >= 0
      }
      return (isStrangerOpen(watched: false), isStrangerOpen(watched: true))
    }
    #expect(isOpen)
    #expect(isWatchedOpen)
  }

  @Test func `a source does not close by itself a descriptor that it was not given`() {
    let isClosed = onLoopThread { stage in
      let pipe = stage.pipe()
      stage.descriptor("d", pipe.writer, for: .write).invalidate()
      return pipe.isAtEnd
    }
    #expect(!isClosed)
  }
}

/// Two eventfds that are closed with the stage.
private func makeEventDescriptors(_ stage: Stage) -> [CInt] {
  (0..<2).map { _ in
    let pipe = stage.pipe()
    let descriptor = makeEventDescriptor()
    // The stage closes the number with the pipe.
    dup2(descriptor, pipe.reader)
    close(descriptor)
    return pipe.reader
  }
}

private func refuseNull() {
  let null = unsafe open("/dev/null", O_RDWR)
  let stage = Stage(.current)
  let source = stage.descriptor("d", null)
  stage.loop.run(for: .seconds(60))
  precondition(source.invalidationReason == .refused(errno: EPERM))
}

/// The trigger changes as well, so that the kernel is asked to forget before it is asked for more.
private func changeClosed(_ isReused: Bool) {
  let stage = Stage(.current)
  let (pipe, other) = (stage.pipe(), stage.pipe())
  let source = stage.descriptor("d", pipe.reader, for: .closed)
  stage.keepAlive()
  stage.loop.run(for: .zero)
  if isReused { pipe.replaceReader(with: other.reader) } else { close(pipe.reader) }
  source.enable(.read)
  stage.loop.run(for: .zero)
  precondition(source.invalidationReason == .descriptorClosed, "\(String(describing: source.invalidationReason))")
}

private func keepLog() {
  unsafe setLogCallback { _, _ in unsafe libeventMessages += 1 }
  Loop.current.run(for: .zero)
  // "No base to free."
  freeBase(nil)
  precondition(unsafe libeventMessages == 1)
}

nonisolated(unsafe) private var libeventMessages = 0
@_silgen_name("event_set_log_callback") private func setLogCallback(
  _ callback: @convention(c) (CInt, UnsafePointer<CChar>?) -> Void)
@_silgen_name("event_base_free") private func freeBase(_ base: OpaquePointer?)

/// A source for writing whose handler does `action` when it dies.
private func makeWriter(_ descriptor: CInt, atTheEnd action: @escaping () -> Void) -> Loop.DescriptorSource {
  let end = AtTheEnd(action)
  return try! Loop.DescriptorSource(descriptor, for: .write) { _, _ in end.keep() }
}

/// Does something when the last reference to it is gone.
private final class AtTheEnd: @unchecked Sendable {
  private let action: () -> Void

  init(_ action: @escaping () -> Void) { self.action = action }

  deinit { action() }

  func keep() {}
}
