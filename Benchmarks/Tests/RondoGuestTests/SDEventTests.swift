import CGuests
import Rondo
import RondoGuests
import Testing

/// A loop that no product of Rondo's knows, as a guest: its descriptor, what it waits for, its dispatch.
@Suite struct SDEventTests {
  @Test func `sd-event's loop is served, and sleeps otherwise`() {
    onLoopThread { stage in
      guard let event = guest_sd_new() else {
        return print("Skipped: libsystemd is not installed; see `make setup-bench`.")
      }
      func timer(_ milliseconds: CInt, _ body: @escaping () -> Void) {
        let callback = stage.callback {
          body()
          return true
        }
        guest_sd_timer(event, milliseconds, call, callback)
      }
      do {
        // Its timers are in its descriptor.
        let guest = try Loop.GuestLoop(
          descriptor: guest_sd_descriptor(event), wait: { guest_sd_prepare(event) != 0 ? .atMost(.zero) : .forever },
          dispatch: { guest_sd_dispatch(event) })
        stage.loop.add(guest)
        timer(10) {
          stage.note("first")
          timer(5) {
            stage.note("second")
            stage.loop.stop()
          }
        }
        stage.loop.add(Loop.Timer(after: .milliseconds(1)) { _ in stage.note("own") })
        #expect(stage.run())
        #expect(stage.text == "own first second")
        #expect(stage.loop.statistics.turns < 40)
        let before = stage.loop.statistics.turns
        stage.loop.run(for: .milliseconds(100))
        #expect(stage.loop.statistics.turns - before <= 2)
        guest.invalidate()
      } catch {
        Issue.record(error)
      }
      guest_sd_free(event)
    }
  }
}
