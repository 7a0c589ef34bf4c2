import CRondoDaemon
import Glibc
import Rondo
import RondoSockets

/// Why no successor takes over.
enum SuccessionError: Error, CustomStringConvertible {
  case notReady
  case isFirstProcess
  case start(ChildError)
  case noLine(SocketError)
  case ended(ChildExit)
  case tooSlow(Duration)

  var description: String {
    switch self {
    case .notReady: "the daemon itself is not ready"
    case .isFirstProcess: "the container of a process 1 ends with it"
    case .start(let error): "it could not be started: \(error)"
    case .noLine(let error): "there is no socket to it: \(error)"
    case .ended(let exit): "it ended before it took over" + (exit.outcome == .unknown ? "" : ": \(exit)")
    case .tooSlow(let limit): "it was not ready within \(limit)"
    }
  }
}

/// A process that is to take this one's place, until it has. *loop thread*
final class Succession: @unchecked Sendable {
  private weak let daemon: Daemon?
  /// The successor has the other end: each says one byte, the successor when it is ready, this one when it makes way.
  private let line: Socket
  private let child: ChildSource
  /// What ends with the succession.
  private var items: [Loop.Item] = []
  private var phase = Phase.starting

  private enum Phase {
    case starting
    /// It is ready, and systemd is told.
    case handingOver
    case over
  }

  /// Starts the successor.
  init(of daemon: Daemon, _ words: [String]) throws(SuccessionError) {
    let itsEnd: Socket
    do { (line, itsEnd) = try Socket.pair() } catch { throw .noLine(error) }
    let open = daemon.sockets.withLock { $0.present }
    var descriptor: CInt = -1
    let process = Self.spawn(words, open, itsEnd, &descriptor)
    if process < 0 { throw .start(ChildError(starting: ChildSource.Command(words[0]), -process)) }
    let successor = Child(process, descriptor)
    let hearer = Hearer()
    do {
      child = try ChildSource(successor, true, 0, Label(fileID: #fileID, line: #line)) { _, exit in
        hearer.succession?.ended(exit)
      }
    } catch {
      try? successor.send(SIGKILL)
      rondo_abandon(process)
      throw .start(error)
    }
    self.daemon = daemon
    hearer.succession = self
  }

  private final class Hearer: @unchecked Sendable { weak var succession: Succession? }

  private static func spawn(
    _ words: [String], _ open: [(name: String, socket: Socket)], _ line: Socket, _ descriptor: inout CInt
  ) -> CInt {
    unsafe withTexts(words) { arguments in
      unsafe open.map(\.name).joined(separator: ":").withCString { names in
        unsafe open.map(\.socket.descriptor).withUnsafeBufferPointer { descriptors in
          var successor = unsafe rondo_successor()
          unsafe successor.executable = UnsafePointer(arguments![0])
          unsafe successor.arguments = UnsafePointer(arguments!)
          unsafe successor.descriptors = descriptors.baseAddress
          unsafe successor.count = CInt(descriptors.count)
          unsafe successor.names = names
          unsafe successor.line = line.descriptor
          return unsafe rondo_spawn_successor(&successor, &descriptor)
        }
      }
    }
  }

  /// Waits until it is ready.
  func begin(on loop: Loop, timeout: Duration) {
    let timer = Loop.Timer(after: timeout) { [weak self] _ in self?.fail(.tooSlow(timeout)) }
    timer.name = "daemon: the successor's time"
    items = [timer]
    do {
      let source = try Loop.DescriptorSource(line.descriptor, for: .read) { [weak self] source, _ in
        source.invalidate()
        self?.hear()
      }
      source.name = "daemon: the successor"
      items.append(source)
    } catch {
      return fail(.noLine(.exhausted))
    }
    for item in items { loop.add(item, to: .common) }
    loop.add(child, to: .common)
  }

  /// It is ready. An end of the line tells nothing: the process may go on.
  private func hear() {
    guard phase == .starting, let daemon, case .bytes? = try? line.receive() else { return }
    phase = .handingOver
    items[0].invalidate()
    guard let manager = daemon.manager else { return makeWay() }
    // systemd is to know before this process ends.
    manager.tell(.mainProcess(child.process))
    manager.afterAll(on: daemon.loop) { [self] in makeWay() }
  }

  private func makeWay() {
    guard phase == .handingOver else { return }
    guard (try? line.send([1])) == 1 else {
      // It cannot be told, because it has ended or is about to: the child's source says how.
      try? child.terminate(grace: .seconds(5))
      return
    }
    end()
    child.invalidate()
    daemon?.handOver()
  }

  private func ended(_ exit: ChildExit) {
    if phase == .handingOver { daemon?.tell(.mainProcess(getpid())) }
    if phase != .over { end(.ended(exit)) }
  }

  private func fail(_ error: SuccessionError) {
    // Its source reaps it.
    try? child.terminate(grace: .seconds(5))
    end(error)
  }

  /// The daemon stops: so does its successor.
  func giveUp() {
    if phase == .handingOver { daemon?.tell(.mainProcess(getpid())) }
    try? child.terminate(grace: .seconds(5))
    end()
  }

  private func end(_ error: SuccessionError? = nil) {
    phase = .over
    for item in items { item.invalidate() }
    daemon?.succession = nil
    if let error { daemon?.successionFailed(error) }
  }
}
