#if GLib
  public import Rondo

  extension Loop.GuestLoop {
    /// Makes a guest of GLib's main context, so that a loop serves its sources.
    ///
    /// Each dispatch is one iteration of the context: it serves the ready sources of the most urgent priority. GLib's
    /// callbacks are callouts of a descriptor source, or of a timeout. In a callback you may run the loop, or call
    /// `g_main_loop_run`, which uses GLib's own poll(2). Both serve the context, except sources that are being
    /// dispatched and do not recurse.
    ///
    /// Call it on the loop's thread, which owns the context until the guest is invalid. Other threads may attach
    /// sources and call `g_main_context_invoke`, which wakes the loop. While the context waits, it costs nothing. A
    /// turn costs one system call for each descriptor of the context, which has at least one.
    ///
    /// ```swift
    /// loop.add(try .glib(), to: .common)
    /// ```
    ///
    /// - Parameter context: A `GMainContext *`; nil for the thread's default, which is usually the process's.
    /// - Throws: `.ownedByAnotherThread`, `.noDescriptor`.
    @available(*, noasync, message: "A main context belongs to its loop's thread. Add it in a synchronous function.")
    public static func glib(_ context: OpaquePointer? = nil, order: Int = 0) throws(GLibError) -> Loop.GuestLoop {
      let iterations = unsafe try GLibIterations(context)
      do {
        return try Loop.GuestLoop(
          descriptor: iterations.descriptor, order: order, isReentrant: true, wait: { iterations.ask() },
          dispatch: { iterations.serve() })
      } catch {
        fatalError("An epoll set that was made just now is none: somebody closed it. \(error)")
      }
    }

    /// The reason why a main context cannot be a guest.
    public enum GLibError: Error, Hashable, Sendable, CustomStringConvertible {
      /// Another thread runs the context, or serves it as a guest.
      case ownedByAnotherThread
      /// The process or the system has no descriptor left: errno.
      case noDescriptor(errno: CInt)

      /// A sentence with the cause.
      public var description: String {
        switch self {
        case .ownedByAnotherThread: "another thread owns the main context"
        case .noDescriptor(let errno):
          "a main context needs a file descriptor to wait by, and could not have it: \(describe(errno: errno))"
        }
      }
    }
  }
#endif
