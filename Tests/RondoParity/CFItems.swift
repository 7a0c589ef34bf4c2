internal import CLinux
internal import CoreFoundation
internal import Glibc
internal import Synchronization

/// A pipe's two ends, neither of which blocks.
struct Pipe {
  let reader, writer: CInt

  static func make() -> Pipe {
    var ends: [CInt] = [0, 0]
    let failure = unsafe Glibc.pipe(&ends)
    precondition(failure == 0, "no pipe: error \(errno)")
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    return Pipe(reader: ends[0], writer: ends[1])
  }
}

/// The CFRunLoop objects of one scenario, by name, with what their C callouts need.
final class CFItems: Sendable {
  enum Item {
    case source(CFRunLoopSource, descriptor: CInt?)
    case timer(CFRunLoopTimer)
    case observer(CFRunLoopObserver)
  }

  /// What a context's info pointer leads to; distinct per item, since equal contexts make sources equal.
  private final class Info {
    let name: String
    let engine: CFEngine
    let descriptor: CInt
    init(name: String, engine: CFEngine, descriptor: CInt = -1) {
      self.name = name
      self.engine = engine
      self.descriptor = descriptor
    }
  }

  private struct Contents {
    var items: [String: Item] = [:]
    var sources: [(name: String, source: CFRunLoopSource)] = []
    var timers: [(name: String, timer: CFRunLoopTimer)] = []
    /// The ends of pipes that are closed to hang up.
    var writers: [String: CInt] = [:]
    /// Keeps the targets of info pointers alive until the loop is gone.
    var infos: [Info] = []
  }
  private nonisolated(unsafe) var contents = Contents()

  subscript(_ name: String) -> Item {
    guard let item = unsafe contents.items[name] else { preconditionFailure("no item is called \(name)") }
    return item
  }

  var signalledSources: [String] {
    unsafe contents.sources.filter { CFRunLoopSourceIsValid($0.source) && cfSourceIsSignalled($0.source) }.map(\.name)
  }

  var timers: [(name: String, timer: CFRunLoopTimer)] { unsafe contents.timers }

  var names: [String] { unsafe Array(contents.items.keys) }

  func removeAll() {
    for case .source(_, let descriptor?) in unsafe contents.items.values { close(descriptor) }
    for writer in unsafe contents.writers.values { close(writer) }
    unsafe contents = Contents()
  }

  /// Before the helper thread starts, so the dictionary never changes while two threads read it.
  func make(_ item: Scenario.Item, from origin: Double, engine: CFEngine) {
    let made: Item =
      switch item.kind {
      case .source0(let order): .source(source0(item, order: order, engine: engine), descriptor: nil)
      case .source1(let written, let order):
        source1(item, eventfd(written ? 1 : 0, CInt(EFD_NONBLOCK | EFD_CLOEXEC)), order: order, engine: engine)
      case .pipe: source1(item, pipe(item.name), order: 0, engine: engine)
      case .timer(let milliseconds, let every, let order):
        .timer(timer(item, date: origin + milliseconds, every: every, order: order, engine: engine))
      case .observer(let phases, let order, let repeats, _):
        .observer(observer(item, phases: phases, order: order, repeats: repeats, engine: engine))
      }
    if case .source(let source, nil) = made { unsafe contents.sources.append((item.name, source)) }
    if case .timer(let timer) = made { unsafe contents.timers.append((item.name, timer)) }
    unsafe contents.items[item.name] = made
  }

  private func remember(_ info: Info) -> UnsafeMutableRawPointer {
    unsafe contents.infos.append(info)
    return unsafe Unmanaged.passUnretained(info).toOpaque()
  }

  private func source0(_ item: Scenario.Item, order: Int, engine: CFEngine) -> CFRunLoopSource {
    var context = unsafe CFRunLoopSourceContext()
    unsafe context.info = remember(Info(name: item.name, engine: engine))
    unsafe context.perform = { raw in
      let info = unsafe Unmanaged<Info>.fromOpaque(raw!).takeUnretainedValue()
      info.engine.calledOut(info.name, phase: nil)
    }
    if item.announces {
      unsafe context.schedule = { raw, _, mode in
        let info = unsafe Unmanaged<Info>.fromOpaque(raw!).takeUnretainedValue()
        info.engine.announce("+", of: info.name, mode: mode!)
      }
      unsafe context.cancel = { raw, _, mode in
        let info = unsafe Unmanaged<Info>.fromOpaque(raw!).takeUnretainedValue()
        info.engine.announce("-", of: info.name, mode: mode!)
      }
    }
    return unsafe CFRunLoopSourceCreate(nil, order, &context)
  }

  private func pipe(_ name: String) -> CInt {
    let ends = Pipe.make()
    unsafe contents.writers[name] = ends.writer
    return ends.reader
  }

  func hangUp(_ name: String) {
    if let writer = unsafe contents.writers.removeValue(forKey: name) { close(writer) }
  }

  private func source1(_ item: Scenario.Item, _ descriptor: CInt, order: Int, engine: CFEngine) -> Item {
    precondition(descriptor >= 0, "no eventfd: error \(errno)")
    var context = unsafe CFRunLoopSourceContext1()
    unsafe context.version = 1
    unsafe context.info = remember(Info(name: item.name, engine: engine, descriptor: descriptor))
    unsafe context.getPort = { raw in unsafe Unmanaged<Info>.fromOpaque(raw!).takeUnretainedValue().descriptor }
    unsafe context.perform = { raw in
      let info = unsafe Unmanaged<Info>.fromOpaque(raw!).takeUnretainedValue()
      info.engine.calledOut(info.name, phase: nil)
    }
    // The two layouts share their beginning, and the version says which one it is.
    let source = unsafe withUnsafeMutablePointer(to: &context) { pointer in
      unsafe pointer.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) { plain in
        unsafe CFRunLoopSourceCreate(nil, order, plain)
      }
    }
    return .source(source!, descriptor: descriptor)
  }

  private func timer(
    _ item: Scenario.Item, date: Double, every: Double, order: Int, engine: CFEngine
  ) -> CFRunLoopTimer {
    let name = item.name
    let date = CFAbsoluteTimeGetCurrent() + (date - Watch.milliseconds) / 1e3
    return CFRunLoopTimerCreateWithHandler(nil, date, every / 1e3, 0, order) { [unowned engine] _ in
      engine.calledOut(name, phase: nil)
    }
  }

  private func observer(
    _ item: Scenario.Item, phases: Phases, order: Int, repeats: Bool, engine: CFEngine
  ) -> CFRunLoopObserver {
    let name = item.name
    return CFRunLoopObserverCreateWithHandler(nil, phases.rawValue, repeats, order) { [unowned engine] _, activity in
      engine.calledOut(name, phase: Phases(rawValue: UInt(activity.rawValue)))
    }
  }
}
