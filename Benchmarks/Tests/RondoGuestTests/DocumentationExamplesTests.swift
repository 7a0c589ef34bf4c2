#if RONDO_GLIB && RONDO_LIBUV
  import CGuests
  import Rondo
  import RondoGuests
  import Testing

  // The example of BesideOtherLoops.md that needs other libraries. `ExampleTextTests` compares the two texts.

  @Suite struct DocumentationExamplesTests {
    /// It waits for a timer of libuv's.
    private final class Server: @unchecked Sendable {
      let loop: UnsafeMutableRawPointer = guest_uv_new()
      private var timer: UnsafeMutableRawPointer?
      private let callback: Callback

      init(_ stop: @escaping () -> Void) {
        callback = Callback {
          stop()
          return true
        }
        timer = guest_uv_timer(loop, 5, 0, call, Unmanaged.passUnretained(callback).toOpaque())
      }

      func close() {
        guest_uv_close(timer, nil, nil)
        #expect(guest_uv_free(loop) == 0)
      }
    }

    @Test func `BesideOtherLoops: GLib's loop and libuv's as guests`() {
      onLoopThread { stage in
        let server = Server { stage.loop.stop() }
        do {
          let loop = Loop.current
          loop.add(try .glib(), to: .common)
          let guest = try Loop.GuestLoop.libuv(server.loop)
          loop.add(guest)
          loop.run()
          guest.invalidate()
        } catch {
          Issue.record(error)
        }
        server.close()
      }
    }
  }
#endif
