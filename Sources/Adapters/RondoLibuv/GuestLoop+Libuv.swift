#if Libuv
  internal import CLibuvGuest
  public import Rondo

  extension Loop.GuestLoop {
    /// libuv's loop as a guest. Its timers, handles and requests are served by the loop it is added to.
    ///
    /// Its callbacks are callouts: of a descriptor source, or of a timeout where libuv waits for no more than a time. A run
    /// nested in one leaves it alone, since `uv_run` is not re-entrant. While nothing keeps the libuv loop alive, as
    /// `uv_loop_alive` says, it is not served, just as `uv_run` would return; nor is what is unreferenced then.
    ///
    /// Use the libuv loop on the loop's own thread alone, but for `uv_async_send`, and do not run it elsewhere meanwhile.
    /// Invalidate the guest before `uv_loop_close`; what is closing then is finished by `uv_run`.
    ///
    /// ```swift
    /// let guest = try Loop.GuestLoop.libuv(server.loop)
    /// loop.add(guest)
    /// ```
    ///
    /// - Parameter loop: A `uv_loop_t *`; nil for `uv_default_loop()`.
    /// - Throws: `.notOpen` if that loop has been closed.
    public static func libuv(
      _ loop: UnsafeMutableRawPointer? = nil, order: Int = 0
    ) throws(Loop.DescriptorError) -> Loop.GuestLoop {
      guard let loop = unsafe rondo_uv_loop(loop) else { throw .notOpen(-1) }
      return unsafe try Loop.GuestLoop(
        descriptor: rondo_uv_descriptor(loop), order: order,
        wait: {
          // Dead, it would ask to be dispatched without end, and do nothing then.
          unsafe rondo_uv_is_alive(loop) == 0 ? .nothing : .milliseconds(rondo_uv_timeout(loop))
        }, dispatch: { unsafe rondo_uv_run(loop) })
    }
  }
#endif
