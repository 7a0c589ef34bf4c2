import Rondo
import RondoFoundation
import RondoInspect
import RondoSockets
import Synchronization

func permanentThread() throws {
  let loop = try LoopThread(name: "permanent")
  loop.execute { note("work") }
  loop.stop(.drain)

  section("permanent thread")
}

/// A client of a network thread.
final class Client: Sendable {
  let isDone = DispatchSemaphore(value: 0)

  func received(_ count: Int) {
    note("received \(count)")
    isDone.signal()
  }
}

func networkThread() throws {
  var ends: [CInt] = [0, 0]
  socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
  let (descriptor, far) = (ends[0], ends[1])
  let client = Client()
  let network = try LoopThread(name: "network")

  let source = SocketSource(try Socket(owning: descriptor), for: .data) { _, event in
    if case .received(let bytes) = event { client.received(bytes.count) }
  }
  network.loop.add(source)

  write(far, [1, 2, 3], 3)
  client.isDone.wait()
  network.stop()
  section("network thread")
}

func stalls() throws {
  let thread = try LoopThread()
  let loop = thread.loop
  let isNoticed = DispatchSemaphore(value: 0)

  let monitor = try StallMonitor(limit: .milliseconds(50)) { stall in
    if stall.isOver { return }
    note("stall")
    isNoticed.signal()
  }
  monitor.watch(loop)

  loop.perform { isNoticed.wait() }
  thread.stop(.drain)
  withExtendedLifetime(monitor) { section("stalls") }
}

func processor() throws {
  let thread = try LoopThread()
  let loop = thread.loop
  let isNoticed = Atomic(false)

  let monitor = try ProcessorMonitor(above: 0.1, for: .milliseconds(100)) { use in
    if !isNoticed.exchange(true, ordering: .relaxed) { note("busy") }
  }
  monitor.watch(loop)

  loop.perform { while !isNoticed.load(ordering: .relaxed) {} }
  thread.stop(.drain)
  withExtendedLifetime(monitor) { section("processor") }
}

/// Commands of other threads for a loop.
final class Commands: Sendable {
  private let source: Loop.Source
  private let pending: Pending

  private final class Pending: Sendable {
    let commands = Mutex<[String]>([])
  }

  init(on loop: Loop) {
    let pending = Pending()
    self.pending = pending
    source = Loop.Source {
      let commands = pending.commands.withLock { commands in
        defer { commands = [] }
        return commands
      }
      for command in commands { note(command) }
    }
    loop.add(source)
  }

  deinit {
    source.invalidate()
  }

  func send(_ command: String) {
    pending.commands.withLock { $0.append(command) }
    source.signal()
  }
}

func commands() throws {
  let thread = try LoopThread()
  let commands = Commands(on: thread.loop)
  commands.send("open")
  commands.send("close")
  thread.stop(.drain)
  section("commands")
}
