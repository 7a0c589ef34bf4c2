#if GLib
  public import Rondo

  extension Loop.GuestLoop {
    /// GLib's main context as a guest. Its sources are served by the loop it is added to.
    ///
    /// Each dispatch is an iteration of the context: sources of one priority, the most urgent of those that are ready.
    /// Its callbacks are callouts of a descriptor source, or of a timeout. They may do anything: a run nested in one
    /// serves the context as well, but for the sources that are being dispatched and do not recurse, and so does
    /// `g_main_loop_run`, with GLib's own poll(2).
    ///
    /// The calling thread, which has to be the loop's, owns the context until the guest is invalid: other threads attach
    /// sources and `g_main_context_invoke` as ever, and wake the loop. While the context waits, it costs nothing; a turn
    /// costs one system call for each of its descriptors, of which it has at least one.
    ///
    /// ```swift
    /// loop.add(try .glib(), to: .common)
    /// ```
    ///
    /// - Parameter context: A `GMainContext *`; nil for the thread's default one, most often the process's.
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

    /// Why a main context cannot be a guest.
    public enum GLibError: Error, Hashable, Sendable, CustomStringConvertible {
      /// Another thread runs the context, or has it as a guest.
      case ownedByAnotherThread
      /// There is no descriptor for it, of the process's or the system's.
      case noDescriptor(errno: CInt)

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
