import CLinux
import Rondo

/// One mode of both loops: Rondo's epoll set as a port of Foundation's, and the observers of Foundation's turns.
/// *loop thread*
final class FoundationMode {
  let mode: Loop.Mode
  let name: CFString
  /// The epoll set that is the port at present; -1 for none.
  private(set) var port: CInt = -1
  /// The epoll set that Foundation's mode waits by: readable while one of its ports is. -1 if it was not found.
  private(set) var portSet: CInt = -1
  /// It is looked for once: a search that finds nothing asks about each number that there may be.
  private var hasLookedForPortSet = false
  /// How many sleeps begin in Foundation's wait before the mode is asked whether it has anything.
  var sleepsToQuestion = 0
  /// Whether a turn of Rondo's waits as a block in Foundation's loop.
  var isTurnQueued = false
  private var source: CFRunLoopSource?
  private(set) var isInserted = false
  /// In the port's place while Rondo sleeps outside of Foundation's wait: Foundation's runs do not end at once. Never
  /// signalled.
  private let keeper: CFRunLoopSource?
  private var isKept = false
  /// A source that is signalled: Rondo has served something, so that Foundation's run has.
  private var news: CFRunLoopSource?
  private var observers: [CFRunLoopObserver] = []
  private unowned let bridge: FoundationBridge

  init(_ mode: Loop.Mode, of bridge: FoundationBridge) {
    self.mode = mode
    self.bridge = bridge
    name = Self.name(of: mode)
    var context = unsafe CFRunLoopSourceContext()
    keeper = unsafe CFRunLoopSourceCreate(&context)
  }

  static func name(of mode: Loop.Mode) -> CFString {
    if mode == .default { return kCFRunLoopDefaultMode }
    return CFStringMake(mode.rawValue)!
  }

  /// Has the bridge told of Foundation's turns in the mode: first of its beginning, last of its sleep and its end.
  func observe(_ loop: CFRunLoop) {
    let activities: [(CFRunLoopActivity, Int)] = [
      ([.entry, .beforeTimers, .afterWaiting], .min), ([.beforeWaiting, .exit], .max),
    ]
    for (activities, order) in activities {
      let observer = CFRunLoopObserverCreate(activities, order: order) { [unowned self] activity in
        bridge.foundation(does: activity, in: self)
      }
      guard let observer else { continue }
      CFRunLoopAddObserver(loop, observer, name)
      observers.append(observer)
    }
  }

  /// Makes `epoll` the port, if another one or none was, and sees to it that Foundation's mode has it.
  func follow(_ epoll: CInt, in loop: CFRunLoop) {
    if port != epoll {
      dropPort()
      port = epoll
      source = makeSource()
    }
    insert(in: loop)
    if hasLookedForPortSet { return }
    hasLookedForPortSet = true
    portSet = FoundationDoors.portSet(with: port)
  }

  func insert(in loop: CFRunLoop) {
    guard !isInserted, let source else { return }
    isInserted = true
    CFRunLoopAddSource(loop, source, name)
    removeKeeper(from: loop)
  }

  /// Has Foundation's mode not empty without the port.
  func keep(in loop: CFRunLoop) {
    guard !isInserted, !isKept, let keeper else { return }
    isKept = true
    CFRunLoopAddSource(loop, keeper, name)
  }

  /// Takes the port out of Foundation's mode, which may then be empty.
  func remove(from loop: CFRunLoop) {
    removeKeeper(from: loop)
    guard isInserted, let source else { return }
    isInserted = false
    CFRunLoopRemoveSource(loop, source, name)
  }

  private func removeKeeper(from loop: CFRunLoop) {
    guard isKept, let keeper else { return }
    isKept = false
    CFRunLoopRemoveSource(loop, keeper, name)
  }

  /// The port is about to be closed.
  func dropPort() {
    if let source { CFRunLoopSourceInvalidate(source) }
    source = nil
    port = -1
    isInserted = false
  }

  /// Has the run of Foundation's count a source as handled in its next turn, as it does when the port has fired.
  func tellNews(_ loop: CFRunLoop) {
    guard news == nil else { return }
    var context = unsafe CFRunLoopSourceContext()
    unsafe context.info = Unmanaged.passUnretained(self).toOpaque()
    unsafe context.perform = { info in
      unsafe Unmanaged<FoundationMode>.fromOpaque(info!).takeUnretainedValue().dropNews()
    }
    guard let made = unsafe CFRunLoopSourceCreate(&context) else { return }
    news = made
    CFRunLoopAddSource(loop, made, name)
    CFRunLoopSourceSignal(made)
  }

  func dropNews() {
    if let news { CFRunLoopSourceInvalidate(news) }
    news = nil
  }

  func end() {
    dropPort()
    dropNews()
    if let keeper { CFRunLoopSourceInvalidate(keeper) }
    for observer in observers { CFRunLoopObserverInvalidate(observer) }
    observers = []
  }

  /// A version 1 source; Foundation asks it for its port when it joins a mode.
  private func makeSource() -> CFRunLoopSource? {
    var context = unsafe CFRunLoopSourceContext()
    unsafe context.version = 1
    unsafe context.info = Unmanaged.passUnretained(self).toOpaque()
    unsafe context.getPort = { info in
      unsafe Unmanaged<FoundationMode>.fromOpaque(info!).takeUnretainedValue().port
    }
    unsafe context.performOfPort = { info in
      let mode = unsafe Unmanaged<FoundationMode>.fromOpaque(info!).takeUnretainedValue()
      mode.bridge.portFired(in: mode)
    }
    return unsafe CFRunLoopSourceCreate(&context)
  }
}
