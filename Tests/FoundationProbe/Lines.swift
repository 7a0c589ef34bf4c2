// Lines of programs for Foundation that leave a type to the compiler, by `.current`, `.main`, `.default` and their kin.
// That the file compiles is the test: where this module adds an overload to one of Foundation's, a line of these may become
// ambiguous. A line belongs here if it compiles with `import Foundation`.

import RondoFoundation

private func scheduleStreams(_ input: InputStream, _ output: OutputStream, _ stream: Stream) {
  input.schedule(in: .current, forMode: .default)
  output.schedule(in: .main, forMode: .common)
  stream.schedule(in: .current, forMode: RunLoop.Mode.default)
  stream.schedule(in: RunLoop.current, forMode: .default)
  stream.schedule(in: RunLoop.main, forMode: RunLoop.Mode("mine"))
  input.remove(from: .current, forMode: .default)
  output.remove(from: .main, forMode: .common)
  stream.remove(from: RunLoop.current, forMode: .default)
  let schedule: (RunLoop, RunLoop.Mode) -> Void = stream.schedule(in:forMode:)
  schedule(.current, .default)
  let loop: RunLoop = .current
  stream.schedule(in: loop, forMode: .default)
  for each in [input, output] { each.schedule(in: .current, forMode: .default) }
  _ = [input, output].map { $0.schedule(in: .main, forMode: .default) }
  _ = [input, output].map { $0.remove(from: Thread.isMainThread ? .main : .current, forMode: .default) }
}

private func setTimers() {
  let timer = Timer(timeInterval: 1, repeats: true) { $0.invalidate() }
  RunLoop.current.add(timer, forMode: .default)
  RunLoop.main.add(timer, forMode: .common)
  RunLoop.main.add(Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .common)
  Timer.scheduledTimer(withTimeInterval: 1, repeats: false, block: { _ in })
  _ = Timer.init(fire: Date(), interval: 1, repeats: true, block: { timer in timer.fireDate = .distantFuture })
  timer.tolerance = 0.1
  timer.fire()
  let known: [Timer?] = [timer, nil]
  _ = known.map { $0?.invalidate() }
}

private func addPorts(_ port: Port) {
  RunLoop.current.add(port, forMode: .default)
  RunLoop.current.remove(port, forMode: .default)
  port.schedule(in: .current, forMode: .default)
  port.remove(from: .main, forMode: .common)
  _ = port.send(before: .distantFuture, components: nil, from: nil, reserved: 0)
  _ = SocketPort(tcpPort: 0)
  _ = NotificationCenter.default.addObserver(
    forName: Port.didBecomeInvalidNotification, object: port, queue: .main
  ) { _ in }
}

private func run() {
  RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.1))
  while RunLoop.current.run(mode: .default, before: .distantFuture) {}
  _ = RunLoop.current.run(mode: .common, before: Date())
  RunLoop.main.perform {}
  RunLoop.main.perform(inModes: [.common, .default]) { print("in") }
  RunLoop.main.perform(inModes: [.default], block: {})
  _ = RunLoop.current.limitDate(forMode: .default)
  _ = RunLoop.current.currentMode == .default
  _ = RunLoop.current === RunLoop.main
  _ = RunLoop.current == .main
  let mode: RunLoop.Mode? = RunLoop.current.currentMode
  switch mode {
  case RunLoop.Mode.default?, RunLoop.Mode.mine?: break
  default: break
  }
}

private func useTheRest(_ handle: FileHandle, _ center: NotificationCenter, _ process: Process) throws {
  handle.readInBackgroundAndNotify(forModes: [.default])
  handle.waitForDataInBackgroundAndNotify(forModes: [.common])
  handle.acceptConnectionInBackgroundAndNotify(forModes: nil)
  let note = Notification(name: .init("x"))
  NotificationQueue.default.enqueue(note, postingStyle: .asap)
  NotificationQueue.default.enqueue(
    note, postingStyle: .whenIdle, coalesceMask: [.onName, .onSender], forModes: [.default])
  NotificationQueue.default.enqueue(note, postingStyle: .now, coalesceMask: .none, forModes: nil)
  NotificationQueue.default.dequeueNotifications(matching: note, coalesceMask: .onName)
  OperationQueue.main.addOperation {}
  OperationQueue.main.addOperation(BlockOperation { RunLoop.main.perform {} })
  OperationQueue.current?.addBarrierBlock {}
  let queue: OperationQueue = .main
  queue.underlyingQueue = .main
  _ = center.addObserver(forName: nil, object: nil, queue: .main) { _ in }
  _ = center.addObserver(forName: nil, object: nil, queue: .current) { _ in }
  Thread.current.name = "x"
  Thread.detachNewThread { RunLoop.current.run() }
  let thread: Thread = .current
  _ = thread == .mainThread
  try process.run()
  process.waitUntilExit()
  DispatchQueue.main.async { RunLoop.current.perform {} }
  let (locale, calendar, zone): (Locale, Calendar, TimeZone) = (.current, .current, .current)
  let (manager, defaults, posts): (FileManager, UserDefaults, NotificationCenter) = (.default, .standard, .default)
  print(locale, calendar, zone, manager, defaults, posts)
}

/// A stream of one's own says whose run loop Foundation gives it.
private final class OwnStream: InputStream {
  override func schedule(in aRunLoop: Foundation.RunLoop, forMode mode: RunLoop.Mode) {
    _ = aRunLoop === Foundation.RunLoop.current
  }
  override func remove(from aRunLoop: Foundation.RunLoop, forMode mode: RunLoop.Mode) {
    let main: Foundation.RunLoop = .main
    _ = aRunLoop === main
  }
}

extension RunLoop.Mode { fileprivate static let mine = RunLoop.Mode("mine") }
extension RunLoop {
  fileprivate func soon(_ body: @escaping @Sendable () -> Void) { perform(inModes: [.mine]) { body() } }
}
