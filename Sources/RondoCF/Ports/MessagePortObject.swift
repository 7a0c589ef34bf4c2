internal import CRondoCFPointers
import Rondo
import RondoPorts
import RondoSockets

/// A CFMessagePort: one that receives, or one that sends.
@safe final class MessagePortObject: CFObject, @unchecked Sendable {
  /// *constant* Of a local port, the function that answers.
  private let callout: CFMessagePortCallBack?
  let isRemote: Bool
  private let state: Guarded<State>

  enum End {
    case local(LocalMessagePort)
    case remote(RemoteMessagePort)
  }

  @safe private struct State {
    /// Nil for a port without one.
    var name: StringObject?
    var end: End
    /// Nil once the port is invalid.
    var info: Info?
    var invalidation: CFMessagePortInvalidationCallBack?
    /// The loop of the thread that has set it.
    weak var loop: Loop?
    /// Kept by its users and the loops that it is in.
    weak var source: PortSource?
    /// What receives instead of a loop.
    var queue: DispatchQueueReference?
    var isEnded = false
  }

  private init(_ name: StringObject?, _ end: End, _ callout: CFMessagePortCallBack?, _ info: Info?) {
    unsafe self.callout = callout
    isRemote = if case .remote = end { true } else { false }
    state = unsafe Guarded(State(name: name, end: end, info: info))
  }

  deinit {
    invalidate()
  }

  override class var typeID: UInt { 45 }

  override var text: String {
    let about = "remote = \(isRemote ? "Yes" : "No"), name = \(name?.string ?? "(null)")"
    return "\(head("CFMessagePort")){valid = \(isValid ? "Yes" : "No"), \(about)}"
  }

  var name: StringObject? { state.withLock { $0.name } }
  var end: End { state.withLock { $0.end } }

  /// Whether it can be used. Asks the kernel whether the other end of a remote port is there.
  var isValid: Bool {
    let (isEnded, end) = state.withLock { ($0.isEnded, $0.end) }
    guard !isEnded else { return false }
    switch end {
    case .local(let port): return port.isValid
    case .remote(let port):
      port.notice()
      return port.isValid
    }
  }

  /// What its functions are given; nil once it is invalid.
  var info: Info? { state.withLock { $0.info } }

  // MARK: - Making

  /// The ports of this process by name, as long as they are referred to.
  private struct Directory {
    var local: [Literal: Weak] = [:]
    var remote: [Literal: Weak] = [:]
  }

  private struct Weak {
    weak var port: MessagePortObject?
  }

  private static let directory = PerProcess(Directory())

  private static func find(_ name: Literal, _ list: KeyPath<Directory, [Literal: Weak]>) -> MessagePortObject? {
    let found = directory.withLock { $0[keyPath: list][name]?.port }
    return found?.isValid == true ? found : nil
  }

  /// Makes the port found by a name.
  private func enter(_ name: StringObject?) {
    guard let literal = name?.literal else { return }
    let list: WritableKeyPath<Directory, [Literal: Weak]> = isRemote ? \.remote : \.local
    Self.directory.withLock { $0[keyPath: list][literal] = Weak(port: self) }
  }

  /// Forgets the port's name, unless another port has taken its place.
  private func leave(_ name: StringObject?) {
    guard let literal = name?.literal else { return }
    let list: WritableKeyPath<Directory, [Literal: Weak]> = isRemote ? \.remote : \.local
    // The later port of that name is let go of with nothing held: this may be the last reference.
    _ = Self.directory.withLock { directory -> MessagePortObject? in
      if let later = directory[keyPath: list][literal]?.port, later !== self { return later }
      directory[keyPath: list][literal] = nil
      return nil
    }
  }

  /// The port of a name, which is new unless this process has one of that name; a new one without a name for nil.
  static func local(
    _ name: StringObject?, _ callout: @escaping CFMessagePortCallBack, _ makeInfo: () -> Info
  ) throws(MessagePortError) -> (port: MessagePortObject, isNew: Bool) {
    if let name, let found = find(name.literal, \.local) { return (found, false) }
    let link = Link()
    let port = unsafe MessagePortObject(name, .local(try receiver(name, link)), callout, makeInfo())
    link.port = port
    port.enter(name)
    return (port, true)
  }

  /// What receives by a name in the kernel.
  private static func receiver(_ name: StringObject?, _ link: Link) throws(MessagePortError) -> LocalMessagePort {
    try LocalMessagePort(try MessagePortName(ofCF: name?.string)) { link.port?.receive($0) }
  }

  /// The end that sends to a name.
  static func remote(_ name: StringObject) throws(MessagePortError) -> MessagePortObject {
    if let found = find(name.literal, \.remote) { return found }
    let link = Link()
    let remote = try RemoteMessagePort(MessagePortName(ofCF: name.string)) { _ in link.port?.peerEnded() }
    let port = unsafe MessagePortObject(name, .remote(remote), nil, nil)
    link.port = port
    port.enter(name)
    return port
  }

  /// What the port underneath goes through, or it would keep this one.
  private final class Link: @unchecked Sendable {
    /// *constant* once set.
    weak var port: MessagePortObject?
  }

  /// Gives a local port another name.
  ///
  /// - Returns: False for a remote port and an invalid one.
  func rename(_ name: StringObject) throws(MessagePortError) -> Bool {
    guard case .local(let old) = end, isValid else { return false }
    let previous = self.name
    if previous?.literal == name.literal { return true }
    if Self.find(name.literal, \.local) != nil { throw .nameTaken(try MessagePortName(ofCF: name.string)) }
    let link = Link()
    link.port = self
    let new = try Self.receiver(name, link)
    let change = state.withLock { state -> (PortSource?, DispatchQueueReference?)? in
      guard !state.isEnded else { return nil }
      (state.name, state.end) = (name, .local(new))
      return (state.source, state.queue)
    }
    guard let (source, queue) = change else { return false }
    leave(previous)
    enter(name)
    source?.replace(new)
    if queue != nil { PortThread.add(new) }
    old.invalidate()
    return true
  }

  // MARK: - Messages

  /// A message has come. The loop's thread. Calls out.
  private func receive(_ request: MessagePortRequest) {
    guard let queue = state.withLock({ $0.queue }) else { return answer(request) }
    queue.perform { [self] in answer(request) }
  }

  /// Calls out.
  private func answer(_ request: MessagePortRequest) {
    guard let info, let callout = unsafe callout else { return }
    let data = DataObject(request.bytes)
    let answer = unsafe withExtendedLifetime(data) {
      unsafe callout(pointer, request.identifier, data.pointer, info.pointer)
    }
    let bytes = unsafe consumed(answer, DataObject.self).map { unsafe Array($0.bytes) }
    // If the answer is too long, or not awaited, the sender learns that by the request's end.
    if request.wantsReply { try? request.reply(bytes) }
  }

  /// The one source of a local port.
  func source(order: Int) -> PortSource? {
    guard case .local(let port) = end, isValid else { return nil }
    return state.withLock { state in
      if state.queue != nil { return nil }
      if let source = state.source, source.isValid { return source }
      let source = PortSource(order: order, port, of: self)
      state.source = source
      return source
    }
  }

  /// Has a queue receive the messages of a local port; nil ends that.
  func receive(on queue: DispatchQueueReference?) {
    guard case .local(let port) = end, isValid else { return }
    let source = state.withLock { state in
      state.queue = queue
      return state.source
    }
    // It is in one loop at a time: the one of the thread that hands messages to queues.
    source?.invalidate()
    if queue == nil { PortThread.remove(port) } else { PortThread.add(port) }
  }

  // MARK: - The end

  /// Calls out.
  func invalidate() {
    let ended = unsafe state.withLock {
      state -> (Info?, CFMessagePortInvalidationCallBack?, PortSource?, DispatchQueueReference?)? in
      if state.isEnded { return nil }
      state.isEnded = true
      return unsafe (state.info.take(), state.invalidation.take(), state.source, state.queue.take())
    }
    guard let (info, invalidation, source, _) = unsafe ended else { return }
    leave(name)
    source?.invalidate()
    switch end {
    case .local(let port): port.invalidate()
    case .remote(let port): port.invalidate()
    }
    unsafe invalidation?(pointer, info?.pointer)
    info?.end()
  }

  /// The other end has gone: the loop that is to be told tells it. Calls out, if there is no such loop.
  private func peerEnded() {
    let loop = state.withLock { $0.loop }
    if loop?.perform(in: .common, { [self] in invalidate() }) != true { invalidate() }
  }

  /// What is called once when it becomes invalid. Calls it at once if it is.
  var invalidationCallBack: CFMessagePortInvalidationCallBack? {
    get { unsafe state.withLock { unsafe $0.invalidation } }
    set {
      // Without descriptors for a loop, the thread that notices the end calls it.
      let loop = unsafe newValue != nil && isRemote && isValid ? try? Loop.makeCurrent() : nil
      let isEnded = state.withLock { state in
        if !state.isEnded { unsafe (state.invalidation, state.loop) = unsafe (newValue, loop) }
        return state.isEnded
      }
      if isEnded { return unsafe newValue?(pointer, nil) ?? () }
      // The end of a peer is noticed in a loop. This thread's would run as long as it had the port.
      if unsafe newValue != nil, case .remote(let port) = end { PortThread.add(port) }
    }
  }
}
