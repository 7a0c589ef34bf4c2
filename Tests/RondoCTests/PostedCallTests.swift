import CRondo
import Testing

@testable import RondoC

/// A posted call, and when its context is destroyed.
@Suite struct PostedCallTests {
  @Test func `whoever has posted, and still holds the call, does not destroy its context`() {
    let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    unsafe count.initialize(to: 0)
    defer { unsafe count.deallocate() }
    let increment: rondo_call = { context in unsafe context!.assumingMemoryBound(to: Int.self).pointee += 1 }
    let posted = unsafe PostedCall({ _ in }, count, increment)
    withExtendedLifetime(posted) {
      posted.block()
      #expect(unsafe count.pointee == 1)
    }
  }

  @Test func `a context is destroyed once, whether its call has run or was dropped`() {
    let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    unsafe count.initialize(to: 0)
    defer { unsafe count.deallocate() }
    let increment: rondo_call = { context in unsafe context!.assumingMemoryBound(to: Int.self).pointee += 1 }
    unsafe PostedCall({ _ in }, count, increment).block()
    _ = unsafe PostedCall({ _ in }, count, increment)
    #expect(unsafe count.pointee == 2)
  }
}
