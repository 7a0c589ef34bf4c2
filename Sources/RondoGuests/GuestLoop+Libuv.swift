#if Libuv
  internal import CRondoGuests
  public import Rondo

  extension Loop.GuestLoop {
    /// Makes a guest of a libuv loop, with its timers, handles and requests.
    ///
    /// libuv's callbacks are callouts of a descriptor source, or of a timeout. A run nested in a callback does not
    /// serve the guest, since `uv_run` is not re-entrant. While `uv_loop_alive` is false, the loop does not serve the
    /// guest, nor its unreferenced handles: `uv_run` would return too.
    ///
    /// Use the libuv loop on the loop's own thread only, except `uv_async_send`. Do not run it yourself while the guest
    /// is valid. Invalidate the guest before `uv_loop_close`; `uv_run` then finishes the closing handles.
    ///
    /// ```swift
    /// let guest = try Loop.GuestLoop.libuv(server.loop)
    /// loop.add(guest)
    /// ```
    ///
    /// - Parameter loop: A `uv_loop_t *`; nil for `uv_default_loop()`.
    /// - Throws: `.notOpen` if the libuv loop has been closed.
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
