import Glibc
import RondoTesting
import Testing

@testable import Rondo

/// What a source closes when its number has come to stand for another file.
@Suite struct DescriptorNumberTests {
  /// Has a source's number stand for another file, and asks whether that is still open when the source is invalid.
  ///
  /// - Parameter end: What is done once the number has been reused.
  private func leavesOpen(
    isAdded: Bool = true, isWatched: Bool = true, by end: @escaping @Sendable (Stage, Loop.DescriptorSource) -> Void
  ) -> Bool {
    onLoopThread { stage in
      let (pipe, other) = (stage.pipe(), stage.pipe())
      let number = duplicate(pipe.reader)
      let source = stage.descriptor("d", number, closesOnInvalidation: true)
      if !isAdded { stage.loop.remove(source) }
      if isWatched { stage.loop.run(for: .zero) }
      precondition(dup2(other.writer, number) == number)
      other.closeWriter(isDuplicated: true)
      end(stage, source)
      #expect(!source.isValid)
      let isOpen = !other.isAtEnd
      if isOpen { close(number) }
      return isOpen
    }
  }

  @Test func `a source that the loop gives up because its number was reused does not close the new file`() {
    let isOpen = leavesOpen(isWatched: false) { stage, source in
      stage.loop.run(for: .zero)
      #expect(source.invalidationReason == .descriptorClosed)
    }
    #expect(isOpen)
  }

  @Test func `a source that is invalidated before the loop has noticed that its number was reused does not close`() {
    #expect(leavesOpen { _, source in source.invalidate() })
  }

  @Test func `a source in no loop does not close a number that was reused`() {
    #expect(leavesOpen(isAdded: false) { _, source in source.invalidate() })
  }

  @Test func `the end of a loop does not close a number that was reused`() {
    let (pipe, other) = (TestPipe(), TestPipe())
    let number = duplicate(pipe.reader)
    onLoopThread { stage in
      stage.descriptor("d", number, closesOnInvalidation: true)
      stage.loop.run(for: .zero)
      precondition(dup2(other.writer, number) == number)
      other.closeWriter(isDuplicated: true)
    }
    let isOpen = !other.isAtEnd
    if isOpen { close(number) }
    #expect(isOpen)
  }
}

/// Sources whose number was closed behind the loop's back, while a duplicate keeps the file open: the kernel tells on.
@Suite struct DuplicatedDescriptorTests {
  /// Runs until the source of a closed number ends, beside others that are ready in every turn.
  ///
  /// - Returns: How often it was told, why it ended, and whether the others are valid.
  private func end(beside others: Int) -> (told: Int, reason: Loop.DescriptorSource.InvalidationReason?, isFine: Bool) {
    onLoopThread { stage in
      let busy = (0..<others).map { number in
        let pipe = stage.pipe()
        pipe.write(1)
        return stage.descriptor("other", pipe.reader)
      }
      let pipe = stage.pipe()
      let number = duplicate(pipe.reader)
      let source = stage.descriptor("dead", number)
      stage.loop.run(for: .zero)
      close(number)
      pipe.write(1)
      for _ in 0..<10_000 where source.isValid { stage.loop.run(for: .zero) }
      let told = stage.trace.tokens.count { $0 == "dead" }
      return (told, source.invalidationReason, busy.allSatisfy(\.isValid))
    }
  }

  @Test(arguments: [0, 1, 3])
  func `the loop finds out after so many callouts, whatever else is ready`(_ others: Int) {
    let (told, reason, isFine) = end(beside: others)
    #expect(told <= LoopCore.calloutsBetweenLooks)
    #expect(reason == .descriptorClosed)
    #expect(isFine)
  }
}

/// Which source closes a descriptor, and when.
@Suite struct ClosingSourceTests {
  @Test func `a descriptor is closed by the last source that watches it`() {
    let (text, isOpen, isClosed) = onLoopThread { stage in
      let sockets = stage.sockets()
      let near = duplicate(sockets.near)
      let reading = stage.descriptor("read", near, closesOnInvalidation: true)
      let writing = stage.descriptor("write", near, for: .write)
      stage.loop.run(for: .zero)
      _ = stage.take()
      reading.invalidate()
      stage.loop.run(for: .zero)
      let isOpen = (try? FileIdentity(of: near)) == writing.identity
      let text = stage.text
      writing.invalidate()
      return (text, isOpen, (try? FileIdentity(of: near)) != writing.identity)
    }
    #expect(text == "write")
    #expect(isOpen)
    #expect(isClosed)
  }

  @Test func `a source that is released while it is valid and in no loop closes its descriptor`() throws {
    let pipe = TestPipe()
    let number = duplicate(pipe.writer)
    let file = try FileIdentity(of: number)
    do {
      let source = try Loop.DescriptorSource(number, for: .write, closesOnInvalidation: true) { _, _ in }
      #expect(source.isValid)
    }
    // Another test may be given the number, but not the file.
    let found = try? FileIdentity(of: number)
    #expect(found != file)
  }

  @Test func `a source that has left its loop closes its descriptor when it is released`() throws {
    let pipe = TestPipe()
    let number = duplicate(pipe.writer)
    let file = try FileIdentity(of: number)
    onLoopThread { stage in
      let source = try! Loop.DescriptorSource(number, for: .write, closesOnInvalidation: true) { _, _ in }
      stage.loop.add(source)
      stage.loop.run(for: .zero)
      stage.loop.remove(source)
    }
    let found = try? FileIdentity(of: number)
    #expect(found != file)
  }
}

/// Sources of one number that are of two files: the older one wanted nothing when its file was closed.
@Suite struct SharedNumberTests {
  /// A pause of the older source, then the newer one is told of its file whatever `disturb` does to the loop.
  private func newerIsTold(after disturb: @escaping @Sendable (Stage, CInt) -> Void) -> Bool {
    onLoopThread { stage in
      let (pipe, other) = (stage.pipe(), stage.pipe())
      let number = duplicate(pipe.reader)
      let older = stage.descriptor("older", number)
      stage.loop.run(for: .zero)
      older.disable(.read)
      stage.loop.run(for: .zero)
      precondition(dup2(other.reader, number) == number)
      let newer = stage.descriptor("newer", number)
      stage.loop.run(for: .zero)
      disturb(stage, number)
      stage.loop.run(for: .zero)
      other.write(1)
      stage.loop.run(for: .zero)
      defer { close(number) }
      return newer.isValid && stage.text.contains("newer")
    }
  }

  @Test func `a set that is made anew keeps the source whose file is there`() {
    let isTold = newerIsTold { stage, _ in
      let lost = duplicate(stage.pipe().reader)
      let source = stage.descriptor("lost", lost)
      stage.loop.run(for: .zero)
      close(lost)
      source.enable(.closed)
    }
    #expect(isTold)
  }

  @Test func `a third source of the number is compared with the one that is watched`() {
    let isTold = newerIsTold { stage, number in stage.descriptor("third", number) }
    #expect(isTold)
  }
}
