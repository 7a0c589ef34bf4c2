import CRondo
import Glibc
import Rondo
import Testing

@testable import RondoC

/// Why a loop gave up a descriptor, in the header's words.
@Suite struct ReasonTests {
  @Test func `what epoll refuses is told by its cause, and not as a file that nobody can wait for`() {
    #expect(word(for: nil) == RONDO_OK)
    #expect(word(for: .descriptorClosed) == RONDO_ERROR_DESCRIPTOR)
    #expect(word(for: .mixedTriggers) == RONDO_ERROR_TRIGGER)
    #expect(word(for: .refused(errno: EPERM)) == RONDO_ERROR_POLLABLE)
    #expect(word(for: .refused(errno: ENOMEM)) == RONDO_ERROR_MEMORY)
    #expect(word(for: .refused(errno: ENOSPC)) == RONDO_ERROR_SHORTAGE)
  }
}
