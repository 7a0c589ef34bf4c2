#if GLib
  internal import CLinux
  internal import CRondoGuests
  internal import Glibc
  internal import Rondo

  /// A main context that the calling thread owns, and what it waits for. *loop thread*
  @safe final class GLibIterations {
    /// *constant*
    private let context: UnsafeMutableRawPointer
    /// *constant*
    private let descriptors: PollSet
    /// What the context told last, and room for more.
    private var told = [pollfd](repeating: pollfd(), count: 8)

    init(_ context: OpaquePointer?) throws(Loop.GuestLoop.GLibError) {
      do { descriptors = try PollSet() } catch { throw .noDescriptor(errno: error.errno) }
      guard let acquired = unsafe rondo_glib_acquire(UnsafeMutableRawPointer(context)) else {
        throw .ownedByAnotherThread
      }
      unsafe self.context = acquired
    }

    deinit { unsafe rondo_glib_release(context) }

    /// Readable when the context has something to do, as far as it was asked.
    var descriptor: CInt { descriptors.epoll }

    /// Has the set wait for what the context waits for. Calls out.
    func ask() -> Loop.GuestLoop.Wait {
      require(
        unsafe rondo_glib_is_owner(context) != 0,
        "This main context is another thread's: the one that made the guest. Make and add it on one thread.")
      let priority = unsafe rondo_glib_prepare(context)
      var (timeout, count): (CInt, Int) = (-1, 0)
      while true {
        count = Int(
          unsafe told.withUnsafeMutableBufferPointer {
            unsafe rondo_glib_query(context, priority, &timeout, $0.baseAddress, CInt(clamping: $0.count))
          })
        if count <= told.count { break }
        told += [pollfd](repeating: pollfd(), count: count)
      }
      // It is dispatched before the set is waited for.
      if timeout == 0 { return .atMost(.zero) }
      switch descriptors.watch(told[..<count]) {
      case .watched: return .milliseconds(timeout)
      case .ready: return .atMost(.zero)
      case .unwatchable: return .milliseconds(timeout < 0 ? PollSet.period : min(timeout, PollSet.period))
      }
    }

    /// Calls out.
    func serve() {
      descriptors.forget()
      unsafe rondo_glib_iterate(context)
    }
  }
#endif
