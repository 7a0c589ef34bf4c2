internal import CRondoCFPointers
import Rondo
import RondoPorts

/// A CFMessagePort: one that receives, or one that sends.
@safe final class MessagePortObject: CFObject, @unchecked Sendable {
  /// *constant*
  let name: StringObject
  /// *constant*
  let end: End
  private let state: Guarded<State>

  enum End {
    case local(LocalMessagePort)
    case remote(RemoteMessagePort)
  }

  @safe private struct State {
    /// Nil once the port is invalid.
    var info: Info?
    var invalidation: CFMessagePortInvalidationCallBack?
    /// Kept by its users and the loops that it is in.
    weak var source: PortSource?
    var isEnded = false
  }

  private init(_ name: StringObject, _ end: End, _ info: Info?) {
    self.name = name
    self.end = end
    state = unsafe Guarded(State(info: info))
  }

  deinit {
    invalidate()
  }

  override class var typeID: UInt { 45 }

  override var text: String {
    let about = "remote = \(isRemote ? "Yes" : "No"), name = \(name.string)"
    return "\(head("CFMessagePort")){valid = \(isValid ? "Yes" : "No"), \(about)}"
  }

  var isRemote: Bool { if case .remote = end { true } else { false } }

  var isValid: Bool {
    guard !state.withLock({ $0.isEnded }) else { return false }
    return switch end {
    case .local(let port): port.isValid
    case .remote(let port): port.isValid
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

  private static let directory = Guarded(Directory())

  private static func find(_ name: Literal, _ list: KeyPath<Directory, [Literal: Weak]>) -> MessagePortObject? {
    let found = directory.withLock { $0[keyPath: list][name]?.port }
    return found?.isValid == true ? found : nil
  }

  /// Forgets a port that has ended, unless another one has taken its place.
  private static func forget(_ port: MessagePortObject) {
    let list: WritableKeyPath<Directory, [Literal: Weak]> = port.isRemote ? \.remote : \.local
    directory.withLock { directory in
      guard let known = directory[keyPath: list][port.name.literal] else { return }
      if known.port == nil || known.port === port { directory[keyPath: list][port.name.literal] = nil }
    }
  }

  /// The port of a name, which is new unless this process has one of that name.
  ///
  /// - Returns: Nil if another process has the name, or it is none.
  static func local(
    _ name: StringObject, _ callout: @escaping CFMessagePortCallBack, _ makeInfo: () -> Info
  ) -> (port: MessagePortObject, isNew: Bool)? {
    if let found = find(name.literal, \.local) { return (found, false) }
    let link = Link()
    guard let portName = try? MessagePortName(name.string),
      let local = try? LocalMessagePort(
        answering: portName,
        with: { request in
          unsafe link.port?.answer(request, callout)
        })
    else { return nil }
    let port = MessagePortObject(name, .local(local), makeInfo())
    link.port = port
    directory.withLock { $0.local[name.literal] = Weak(port: port) }
    return (port, true)
  }

  /// The end that sends to a name.
  ///
  /// - Returns: Nil if no port has it.
  static func remote(_ name: StringObject) -> MessagePortObject? {
    if let found = find(name.literal, \.remote) { return found }
    let link = Link()
    guard let portName = try? MessagePortName(name.string),
      let remote = try? RemoteMessagePort(portName, invalidated: { _ in link.port?.invalidate() })
    else { return nil }
    let port = MessagePortObject(name, .remote(remote), nil)
    link.port = port
    directory.withLock { $0.remote[name.literal] = Weak(port: port) }
    return port
  }

  /// What the port underneath goes through, or it would keep this one.
  private final class Link: @unchecked Sendable {
    /// *constant* once set.
    weak var port: MessagePortObject?
  }

  // MARK: - Messages

  /// The loop's thread. Calls out.
  private func answer(_ request: MessagePortRequest, _ callout: CFMessagePortCallBack) -> [UInt8]? {
    guard let info else { return nil }
    let data = DataObject(request.bytes)
    let answer = unsafe withExtendedLifetime(data) {
      unsafe callout(pointer, request.identifier, data.pointer, info.pointer)
    }
    guard let answer = unsafe consumed(answer, DataObject.self) else { return nil }
    return unsafe Array(answer.bytes)
  }

  /// The one source of a local port.
  func source(order: Int) -> PortSource? {
    guard case .local(let port) = end, isValid else { return nil }
    return state.withLock { state in
      if let source = state.source, source.isValid { return source }
      let source = PortSource(order: order, port, of: self)
      state.source = source
      return source
    }
  }

  // MARK: - The end

  /// Calls out.
  func invalidate() {
    let ended = unsafe state.withLock { state -> (Info?, CFMessagePortInvalidationCallBack?, PortSource?)? in
      if state.isEnded { return nil }
      state.isEnded = true
      return unsafe (state.info.take(), state.invalidation.take(), state.source)
    }
    guard let (info, invalidation, source) = unsafe ended else { return }
    Self.forget(self)
    source?.invalidate()
    switch end {
    case .local(let port): port.invalidate()
    case .remote(let port): port.invalidate()
    }
    unsafe invalidation?(pointer, info?.pointer)
    info?.end()
  }

  /// What is called once when it becomes invalid. Calls it at once if it is.
  var invalidationCallBack: CFMessagePortInvalidationCallBack? {
    get { unsafe state.withLock { unsafe $0.invalidation } }
    set {
      let isEnded = state.withLock { state in
        if !state.isEnded { unsafe state.invalidation = newValue }
        return state.isEnded
      }
      if isEnded { unsafe newValue?(pointer, nil) }
    }
  }
}
