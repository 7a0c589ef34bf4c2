import CLinux
import Glibc
import Rondo
import RondoSockets

/// How a thread waits for a port. On that thread.
protocol Waiting {
  /// How the thread that moves the bytes ends the wait.
  var waiter: PendingReply.Waiter { get }

  /// Waits until `isDone` holds of the port, or for `timeout`; an invalid port is waited for no longer.
  ///
  /// - Returns: Whether it holds.
  func wait(
    on port: RemoteMessagePort, for timeout: Duration, _ isDone: (borrowing RemoteMessagePort.State) -> Bool
  ) -> Bool
}

/// Sleeping in poll(2).
final class ThreadWaiting: Waiting {
  /// Readable once the request is settled.
  let event: CInt

  /// - Throws: `.socket(.exhausted)` if no descriptor is left.
  init() throws(MessagePortError) {
    event = rondo_eventfd()
    if event < 0 { throw .socket(SocketError(.poll, -errno)) }
  }

  deinit {
    _ = Glibc.close(event)
  }

  var waiter: PendingReply.Waiter { .thread(self) }

  /// Ends the wait, or keeps it from beginning. Any thread.
  func wake() {
    rondo_eventfd_signal(event)
  }

  func wait(
    on port: RemoteMessagePort, for timeout: Duration, _ isDone: (borrowing RemoteMessagePort.State) -> Bool
  ) -> Bool {
    let deadline = SuspendingClock.now.advanced(by: max(.zero, timeout))
    while true {
      port.pump()
      let (isOver, socket, isSending) = port.state.withLock { state in
        (isDone(state), state.wire?.socket, state.wire?.queue.isEmpty == false)
      }
      if isOver { return true }
      guard let socket else { return false }
      let left = SuspendingClock.now.duration(to: deadline)
      if left <= .zero { return false }
      let events = isSending ? CInt(POLLIN | POLLOUT) : CInt(POLLIN)
      _ = withExtendedLifetime(socket) {
        rondo_poll_two(socket.descriptor, events, event, left.pollMilliseconds)
      }
    }
  }
}

/// Running the thread's loop in a mode.
final class RunWaiting: Waiting {
  private let loop: Loop
  private let mode: Loop.Mode
  private let sleeper: ThreadWaiting

  init(_ mode: Loop.Mode) throws(MessagePortError) {
    require(mode != .common, "'.common' stands for the common modes and cannot be run. Name one of them.")
    sleeper = try ThreadWaiting()
    loop = .current
    self.mode = mode
  }

  var waiter: PendingReply.Waiter { sleeper.waiter }

  func wait(
    on port: RemoteMessagePort, for timeout: Duration, _ isDone: (borrowing RemoteMessagePort.State) -> Bool
  ) -> Bool {
    let end = Loop.Timer(after: timeout) { _ in }
    let deadline = end.fireDate
    // What the loop cannot watch is waited for without it.
    let refusal = Refusal()
    let loop = loop
    guard let socket = port.state.withLock({ $0.wire?.socket }),
      let ready = try? Loop.ReportedDescriptorSource(
        socket.descriptor, for: .read,
        handler: { _, readiness in
          if readiness == .givenUp { refusal.stop(loop) } else { port.pump() }
        }),
      let settled = try? Loop.ReportedDescriptorSource(
        sleeper.event, for: .read,
        handler: { _, readiness in
          if readiness == .givenUp { refusal.stop(loop) }
        })
    else { return port.state.withLock { isDone($0) } }
    let items: [Loop.Item] = [end, ready, settled]
    for item in items { loop.add(item, to: mode) }
    // The sources go before their descriptors do.
    defer { for item in items { item.invalidate() } }
    port.pump()
    while true {
      let (isOver, isSending) = port.state.withLock { state in
        (isDone(state) ? true : state.wire == nil ? false : nil, state.wire?.queue.isEmpty == false)
      }
      if let isOver { return isOver }
      if !end.isValid { return false }
      if isSending { ready.enable(.write) } else { ready.disable(.write) }
      let result = loop.run(in: mode, until: deadline, returnAfterSourceHandled: true)
      // The turn that is stopped may also read the reply: a source that was handled hides the stop.
      if result == .stopped || loop.hasStoppedLastRun {
        // A request to stop every run lasts until they have ended: running again would return at once.
        let left = SuspendingClock.now.duration(to: deadline)
        let isSettled = sleeper.wait(on: port, for: left, isDone)
        if !refusal.hasCome { loop.stop() }
        return isSettled
      }
      port.pump()
    }
  }

  /// Whether the loop has been stopped because it cannot watch something. *loop thread*
  private final class Refusal: @unchecked Sendable {
    private(set) var hasCome = false

    func stop(_ loop: Loop) {
      hasCome = true
      loop.stop()
    }
  }
}
