#if RONDO_LIBUV
  import CGuests
  import Glibc
  import Rondo
  import RondoGuests
  import Synchronization
  import Testing

  /// libuv's loops as guests of a loop.
  @Suite struct LibuvTests {
    @Test func `timers are called, not early, and the loop sleeps until they are due`() {
      // Before libuv reads its clock, from which its timers count.
      let clock = SuspendingClock()
      let start = clock.now
      withUV { stage, uv in
        var due: Duration?
        var count = 0
        uv.timer(20) {
          due = clock.now - start
          stage.note("once")
        }
        uv.timer(15, every: 15) {
          stage.note("tick")
          count += 1
          if count == 3 { stage.loop.stop() }
        }
        #expect(stage.run())
        #expect(stage.text == "tick once tick tick")
        // libuv's clock has whole milliseconds.
        #expect(due! >= .milliseconds(19))
        #expect(stage.loop.statistics.turns < 40)
      }
    }

    @Test func `a poll handle hears of its descriptor, as long as it is ready`() {
      withUV { stage, uv in
        let pipe = stage.pipe()
        var left = 3
        uv.poll(pipe.reader) {
          var byte: UInt8 = 0
          _ = read(pipe.reader, &byte, 1)
          stage.note("in")
          left -= 1
          if left == 0 { stage.loop.stop() }
        }
        stage.loop.add(Loop.Timer(after: .milliseconds(5)) { _ in for _ in 0..<3 { writeByte(pipe.writer) } })
        #expect(stage.run())
        #expect(stage.text == "in in in")
        #expect(stage.loop.statistics.turns < 30)
      }
    }

    @Test func `handles that a callout of the loop's starts count for the sleep that follows`() {
      withUV { stage, uv in
        let pipe = stage.pipe()
        stage.loop.add(
          Loop.Timer(after: .milliseconds(5)) { _ in
            uv.timer(5) {
              stage.note("timer")
              writeByte(pipe.writer)
            }
            uv.poll(pipe.reader) {
              _ = drain(pipe.reader)
              stage.note("in")
              stage.loop.stop()
            }
          })
        #expect(stage.run())
        #expect(stage.text == "timer in")
      }
    }

    @Test func `an async handle that another thread sends wakes the loop`() {
      withUV { stage, uv in
        let count = 200
        let heard = Atomic<Int>(0)
        let handle = uv.async {
          if heard.add(1, ordering: .sequentiallyConsistent).newValue == count { stage.loop.stop() }
        }
        let address = UInt(bitPattern: handle)
        let thread = TestThread {
          for number in 0..<count {
            while heard.load(ordering: .sequentiallyConsistent) < number { sched_yield() }
            if number % 2 == 0 { while !stage.loop.isWaiting { sched_yield() } }
            guest_uv_send(UnsafeMutableRawPointer(bitPattern: address))
          }
        }
        #expect(stage.run())
        thread.join()
        #expect(heard.load(ordering: .sequentiallyConsistent) == count)
      }
    }

    @Test func `work of libuv's threads comes back to the loop`() {
      withUV { stage, uv in
        uv.work({ usleep(5000) }) {
          #expect(stage.loop.isCurrent)
          stage.note("done")
          stage.loop.stop()
        }
        #expect(stage.run())
        #expect(stage.text == "done")
      }
    }

    @Test func `an idle handle keeps the loop from sleeping, and from nothing else`() {
      withUV { stage, uv in
        var count = 0
        var idle: UnsafeMutableRawPointer?
        idle = uv.idle {
          count += 1
          if count < 100 || stage.text.isEmpty { return }
          uv.close(idle!)
          stage.loop.stop()
        }
        stage.loop.add(Loop.Timer(after: .milliseconds(1)) { _ in stage.note("timer") })
        #expect(stage.run())
        #expect(stage.text == "timer" && count >= 100)
      }
    }

    @Test func `what a callout closes is told closed`() {
      withUV { stage, uv in
        let timer = uv.timer(3_600_000) { stage.note("never") }
        stage.loop.add(
          Loop.Timer(after: .milliseconds(5)) { _ in
            uv.close(timer) {
              stage.note("closed")
              stage.loop.stop()
            }
          })
        #expect(stage.run())
        #expect(stage.text == "closed")
      }
    }

    @Test func `a loop with nothing alive rests, and wakes up when something is`() {
      withUV { stage, uv in
        let async = uv.async { stage.note("heard") }
        guest_uv_unref(async)
        stage.loop.run(for: .milliseconds(5))
        // Nobody serves it, and nobody spins.
        guest_uv_send(async)
        let before = stage.loop.statistics.turns
        stage.loop.run(for: .milliseconds(50))
        #expect(stage.text == "" && stage.loop.statistics.turns - before <= 2)
        uv.timer(5) { stage.loop.stop() }
        #expect(stage.run())
        #expect(stage.text == "heard")
      }
    }

    @Test func `a loop that waits for nothing costs no turn`() {
      withUV { stage, uv in
        let pipe = stage.pipe()
        uv.poll(pipe.reader) {}
        uv.timer(3_600_000) {}
        stage.loop.run(for: .milliseconds(20))
        let before = stage.loop.statistics
        stage.loop.run(for: .milliseconds(300))
        #expect(stage.loop.statistics.turns - before.turns <= 1)
        #expect(stage.loop.statistics.sleeps - before.sleeps <= 1)
      }
    }

    @Test func `libuv's own stop does not spin the loop, and stops nothing of it`() {
      withUV { stage, uv in
        uv.timer(5) {
          stage.note("stopping")
          guest_uv_stop(uv.pointer)
        }
        uv.timer(10) {
          stage.note("on")
          stage.loop.stop()
        }
        #expect(stage.run())
        #expect(stage.text == "stopping on" && stage.loop.statistics.turns < 30)
      }
    }

    @Test func `a run nested in a callback serves the loop's items, and libuv's afterwards`() {
      withUV { stage, uv in
        let pipe = stage.pipe()
        uv.poll(pipe.reader) {
          _ = drain(pipe.reader)
          stage.note("in")
          stage.loop.stop()
        }
        uv.timer(1) {
          stage.note("outer")
          writeByte(pipe.writer)
          stage.loop.add(Loop.Timer(after: .milliseconds(5)) { _ in stage.note("own") })
          let before = stage.loop.statistics.turns
          stage.loop.run(for: .milliseconds(20))
          #expect(stage.loop.statistics.turns - before < 10)
          stage.note("back")
        }
        #expect(stage.run())
        #expect(stage.text == "outer own back in")
      }
    }

    @Test func `modes isolate, and two loops of libuv's do not disturb each other`() throws {
      withUV { stage, uv in
        let other = UVLoop(stage)
        do {
          let guest = try Loop.GuestLoop.libuv(other.pointer)
          stage.loop.add(guest, to: "other")
          uv.timer(1) { stage.note("here") }
          other.timer(1) { stage.note("there") }
          stage.loop.run(in: "other", for: .milliseconds(20))
          #expect(stage.text == "there")
          stage.loop.run(for: .milliseconds(20))
          #expect(stage.text == "there here")
          guest.invalidate()
        } catch {
          Issue.record(error)
        }
        other.free()
      }
    }

    @Test func `a guest that is invalidated in a callback is not served again, and its loop can be closed`() throws {
      onLoopThread { stage in
        do {
          let uv = UVLoop(stage)
          let guest = try Loop.GuestLoop.libuv(uv.pointer)
          stage.loop.add(guest)
          let timer = uv.timer(1, every: 1) {
            stage.note("once")
            guest.invalidate()
          }
          stage.loop.add(Loop.Timer(after: .milliseconds(20)) { _ in stage.loop.stop() })
          #expect(stage.run())
          #expect(stage.text == "once")
          uv.close(timer)
          uv.free()
        } catch {
          Issue.record(error)
        }
      }
    }
  }

  /// Runs `body` with a libuv loop that the loop of a new thread has as a guest in its default mode.
  private func withUV(_ body: @escaping @Sendable (Stage, UVLoop) -> Void) {
    onLoopThread { stage in
      let uv = UVLoop(stage)
      do {
        let guest = try Loop.GuestLoop.libuv(uv.pointer)
        stage.loop.add(guest)
        body(stage, uv)
        guest.invalidate()
      } catch {
        Issue.record(error)
      }
      uv.free()
    }
  }

  /// A libuv loop, and its handles.
  private final class UVLoop: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer = guest_uv_new()
    private unowned let stage: Stage
    private var handles: [UnsafeMutableRawPointer] = []

    init(_ stage: Stage) { self.stage = stage }

    private func callback(_ body: @escaping () -> Void) -> UnsafeMutableRawPointer {
      stage.callback {
        body()
        return true
      }
    }

    private func keep(_ handle: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
      handles.append(handle)
      return handle
    }

    @discardableResult
    func timer(_ milliseconds: CInt, every: CInt = 0, _ body: @escaping () -> Void) -> UnsafeMutableRawPointer {
      keep(guest_uv_timer(pointer, milliseconds, every, call, callback(body)))
    }

    @discardableResult
    func poll(_ descriptor: CInt, _ body: @escaping () -> Void) -> UnsafeMutableRawPointer {
      keep(guest_uv_poll(pointer, descriptor, call, callback(body)))
    }

    func async(_ body: @escaping () -> Void) -> UnsafeMutableRawPointer {
      keep(guest_uv_async(pointer, call, callback(body)))
    }

    func idle(_ body: @escaping () -> Void) -> UnsafeMutableRawPointer {
      keep(guest_uv_idle(pointer, call, callback(body)))
    }

    func work(_ body: @escaping @Sendable () -> Void, then done: @escaping () -> Void) {
      var isWork = true
      let both = callback {
        // On another thread first, then on the loop's.
        if isWork { body() } else { done() }
        isWork = false
      }
      guest_uv_work(pointer, call, call, both)
    }

    func close(_ handle: UnsafeMutableRawPointer, then closed: @escaping () -> Void = {}) {
      handles.removeAll { $0 == handle }
      guest_uv_close(handle, call, callback(closed))
    }

    /// Closes what is open, and the loop.
    func free() {
      for handle in handles { close(handle) }
      #expect(guest_uv_free(pointer) == 0)
    }
  }
#endif
