import Glibc
import Rondo
import RondoSockets
import Testing

/// The loop cannot watch a socket: the source says so, and is invalid.
@Suite struct GivenUpTests {
  @Test func `a source whose descriptor the loop gives up is told, once, and invalid`() throws {
    let (text, isValid) = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let told = Told()
      let source = SocketSource(near, for: .data) { source, event in
        if case .failed(let error) = event { told.errors.append(error) }
        told.isMember = told.isMember || stage.loop.contains(source)
      }
      #expect(stage.loop.add(source))
      replace(near.descriptor)
      stage.loop.run(for: .zero)
      stage.loop.run(for: .zero)
      withExtendedLifetime((near, far)) {}
      #expect(!told.isMember)
      return (told.errors, source.isValid)
    }
    #expect(text == [.system(.poll, errno: EBADF)] && !isValid)
  }

  @Test func `a source that is invalidated by hand is told nothing`() throws {
    let count = try onLoopThread { stage in
      let (near, far) = try Socket.pair()
      let told = Told()
      let source = SocketSource(near, for: .data) { _, event in
        if case .failed(let error) = event { told.errors.append(error) }
      }
      stage.loop.add(source)
      source.invalidate()
      stage.loop.run(for: .zero)
      withExtendedLifetime(far) {}
      return told.errors.count
    }
    #expect(count == 0)
  }

  @Test func `what has no memory is not said to lack a descriptor`() {
    #expect(SocketError(.option, -ENOMEM) == .noMemory && SocketError(.send, -ENOBUFS) == .noMemory)
    #expect(SocketError(.accept, -EMFILE) == .exhausted && SocketError(.socket, -ENFILE) == .exhausted)
    #expect(SocketError.noMemory.description == "the kernel has no memory left for it")
  }

  @Test func `a user's limit of watched descriptors is named`() {
    let text = SocketError(Loop.DescriptorSource.InvalidationReason.refused(errno: ENOSPC)).description
    #expect(text.contains("fs.epoll.max_user_watches"))
  }
}

private final class Told: @unchecked Sendable {
  var errors: [SocketError] = []
  var isMember = false
}

/// Has a number stand for another file.
private func replace(_ descriptor: CInt) {
  let other = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
  precondition(other >= 0 && dup2(other, descriptor) == descriptor)
  close(other)
}
