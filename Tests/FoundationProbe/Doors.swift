import CoreFoundation
import Rondo
import RondoFoundation
import RondoPorts

/// What is left in a run loop by one door alone, while nothing but Foundation's loop runs: `foundation-probe door <name>`.
func useDoor() {
  touchFoundation()
  // It has something of its own, too.
  onFoundationTimer(after: 1_000) {}
  doors[CommandLine.arguments[2]]!()
  runFoundationUntilStopped()
  withExtendedLifetime(kept) {}
}

/// Every door is for the thread's own run loop; those with `main` are for the main thread.
private let doors: [String: () -> Void] = [
  "main-timer": { RunLoop.main.add(Timer(timeInterval: 0.01, repeats: false) { _ in served() }, forMode: .default) },
  "main-item": {
    let source = Loop.Source { served() }
    RunLoop.main.add(source, forMode: .default)
    source.signal()
  },
  "main-port": { send(to: Port()) { RunLoop.main.add($0, forMode: .default) } },
  "main-socket-port": { send(to: SocketPort()) { RunLoop.main.add($0, forMode: .default) } },
  "main-message-port": {
    let name = try! MessagePortName("door-\(ProcessInfo.processInfo.processIdentifier)")
    RunLoop.main.add(try! LocalMessagePort(name) { _ in served() }, forMode: .default)
    Thread { try? RemoteMessagePort(name).send(Data(), timeout: .seconds(30)) }.start()
  },
  "main-perform": { RunLoop.main.perform { served() } },
  "main-perform-in-modes": { RunLoop.main.perform(inModes: [.common]) { served() } },
  "main-request": { try! RunLoop.main.perform(waitUntilDone: false) { served() } },
  "main-delayed-request": { RunLoop.main.perform(afterDelay: 0.01) { served() } },
  "main-of-an-object": {
    try! Server().performOnMainThread({ server in { server.serve($0) } }, with: 0, waitUntilDone: false)
  },
  "main-loop": {
    _ = RunLoop.main
    Loop.main.perform { served() }
  },
  "main-thread": { Thread.mainThread.runLoop!.perform { served() } },
  "thread": { Thread.current.runLoop!.perform { served() } },
  "object-on-thread": {
    try! Server().perform({ server in { server.serve($0) } }, on: .current, with: 0, waitUntilDone: false)
  },
  "object-after-delay": { Server().perform(Server.serve, with: 0, afterDelay: 0.01) },
  "of": { RunLoop.of(Loop.current).perform { served() } },
  "current": { RunLoop.current.perform { served() } },
  "scheduled-timer": { Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in served() } },
  "scheduled-target": {
    Timer.scheduledTimer(
      timeInterval: 0.01, target: Server(), selector: Server.fire, userInfo: nil, repeats: false)
  },
  "notification-queue": { post(to: .default) },
  "notification-queue-of-ones-own": { post(to: NotificationQueue(notificationCenter: .default)) },
]

private func served() {
  print("served")
  stopFoundation()
}

nonisolated(unsafe) private var kept: [Any] = []

private final class Server: NSObject, PortDelegate, @unchecked Sendable {
  func serve(_ number: Int) { served() }
  func fire(_ timer: Timer) { served() }
  func handle(_ message: PortMessage) { served() }
}

private func send(to port: Port, adding add: (Port) -> Void) {
  let server = Server()
  kept = [port, server]
  port.setDelegate(server)
  add(port)
  _ = port.send(before: Date(timeIntervalSinceNow: 30), components: [Data("x".utf8) as NSData], from: nil, reserved: 0)
}

private func post(to queue: NotificationQueue) {
  let name = Notification.Name("door")
  kept = [queue, NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in served() }]
  queue.enqueue(Notification(name: name), postingStyle: .asap)
}

// MARK: - From elsewhere, and later

/// A worker comes to the main thread's run loop, while the main thread runs Foundation's and knows nothing of the other.
func useDoorFromElsewhere() {
  onFoundationTimer(after: 0.01) { Thread { doors[CommandLine.arguments[2]]!() }.start() }
  runFoundationUntilStopped()
}

/// A run loop is kept from before there is one of Foundation's, and used when that one runs.
func useKeptRunLoop() {
  let runLoop = RunLoop.main
  onFoundationTimer(after: 0.01) { runLoop.perform { served() } }
  runFoundationUntilStopped()
}

/// The same, and other threads use it. Foundation's loop is made by the call that runs it.
func useKeptRunLoopFromElsewhere() {
  let runLoop = RunLoop.main
  let report = Report()
  Thread {
    // What comes before there is one of Foundation's waits for what comes after.
    while report.count == 0 {
      runLoop.perform {
        if report.count == 0 { served() }
        report.add("performed")
      }
      usleep(10_000)
    }
  }.start()
  runFoundationUntilStopped()
}

/// A request to a message port runs the thread's loop in a mode, and Foundation's timer in it goes on.
func requestWhileServingFoundation() {
  let name = try! MessagePortName("door-\(ProcessInfo.processInfo.processIdentifier)")
  let isOpen = DispatchSemaphore(value: 0)
  let request = Guarded<MessagePortRequest?>(nil)
  Thread {
    let port = try! LocalMessagePort(name) { asked in request.withLock { $0 = asked } }
    Loop.current.add(port, to: .default)
    isOpen.signal()
    Loop.current.run()
  }.start()
  isOpen.wait()
  func answer() {
    guard let request = request.withLock({ $0 }) else { return onFoundationTimer(after: 0.01, answer) }
    try! request.reply(Data("answered".utf8))
  }
  onFoundationTimer(after: 0.01, answer)
  let reply = try! RemoteMessagePort(name).request(
    Data(), sendTimeout: .seconds(30), replyTimeout: .seconds(30), runningMode: .default)
  print(String(decoding: reply ?? Data(), as: UTF8.self))
}
