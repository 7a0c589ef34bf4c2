import CLinux
import CTests
import Dispatch
import Glibc
import Rondo

/// The main loop as the guest of a raw epoll loop, idle for three seconds in the end, between marks.
func probeEpollHost() {
  let exercise = HostExercise(idle: .seconds(3)) { mark($0 ? "idle begins" : "idle ends") }
  _ = unsafe host_epoll(
    exercise.descriptor, { unsafe hosted($0).turn() }, { unsafe hosted($0).tick() },
    Unmanaged.passUnretained(exercise).toOpaque())
  exercise.end()
}

private func hosted(_ context: UnsafeMutableRawPointer?) -> HostExercise {
  unsafe Unmanaged<HostExercise>.fromOpaque(context!).takeUnretainedValue()
}

/// The main loop as the guest of a Dispatch source on the main queue, which this thread drains as a run loop would.
///
/// Both the host and the guest serve the queue here, and the guest's turns are blocks of it.
func probeDispatchHost() {
  let exercise = HostExercise(idle: .milliseconds(300))
  let isOver = Cell(false)
  let source = DispatchSource.makeReadSource(fileDescriptor: exercise.descriptor, queue: .main)
  source.setEventHandler { if exercise.turn() != 0 { isOver.value = true } }
  source.resume()
  let timer = DispatchSource.makeTimerSource(queue: .main)
  timer.setEventHandler { if exercise.tick() != 0 { timer.cancel() } }
  timer.schedule(deadline: .now() + .milliseconds(10), repeating: .milliseconds(10), leeway: .nanoseconds(0))
  timer.resume()
  let queue = rondo_main_queue_handle()
  while !isOver.value {
    var query = pollfd(fd: queue, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&query, 1, -1)
    rondo_eventfd_drain(queue)
    rondo_main_queue_drain()
  }
  source.cancel()
  exercise.end()
}
