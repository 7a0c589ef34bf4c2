private import CLibevent
private import CLinux
internal import Rondo

/// An event base for a library's events, and what has their next timeout show in its epoll set. *loop thread*
@safe final class ForeignBase {
  private let base: EventBase
  /// *constant* An eventfd that is always readable: EPOLL_CTL_MOD of it ends a wait immediately.
  private let ring: CInt
  private let pointer: UnsafeMutablePointer<rondo_foreign>

  init() throws(DescriptorShortage) {
    base = try EventBase(for: "Events of a library on libevent need a base", isForeign: true)
    ring = try OwnDescriptors.make("Events of a library on libevent need an eventfd") { rondo_readable_eventfd() }
    unsafe pointer = rondo_foreign_new(base.pointer, ring)
    base.findEpoll(watching: ring, besides: [])
    // Finding it has rung.
    dispatch()
  }

  deinit {
    unsafe rondo_foreign_free(pointer)
    OwnDescriptors.close(ring)
  }

  /// The `event_base *`.
  var handle: OpaquePointer { unsafe base.pointer }

  /// Readable while a callback is due, as far as it is armed.
  var epoll: CInt { base.epoll }

  /// Whether a library's events are in the base.
  var hasEvents: Bool { unsafe rondo_foreign_has_events(pointer) != 0 }

  /// Has the epoll set become readable when the next timeout is due, or at once for what is due already.
  ///
  /// Calls nothing of anybody's, unless 32 descriptors become ready in the same moment.
  func arm() {
    if unsafe rondo_foreign_is_active(pointer) != 0 { return askAnew() }
    // Then the loop is told, and the base dispatched before it is armed.
    if rondo_is_readable(epoll) != 0 { return }
    askAnew()
    let outcome = unsafe rondo_foreign_arm(pointer)
    if outcome < 0 { fail(-outcome) }
    if outcome > 0 { askAnew() }
  }

  /// Makes the epoll set readable.
  private func askAnew() {
    let error = rondo_wake(epoll, ring)
    if error != 0 { fail(error) }
  }

  private func fail(_ error: CInt) -> Never {
    WaitFailure("the epoll set of a libevent base, or its eventfd", epoll, error, in: "epoll_ctl(2)").end()
  }

  /// Calls back for all that is due or ready. Calls out.
  @inline(never)
  func dispatch() {
    unsafe rondo_foreign_dispatch(pointer)
    CalloutBarrier.keepFrame()
  }
}
