import Glibc
import Rondo
import RondoTesting
import Testing

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
