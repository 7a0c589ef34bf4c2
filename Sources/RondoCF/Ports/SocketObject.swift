internal import CRondoCFPointers
import Glibc
import Rondo
import Synchronization

/// A CFSocket: a descriptor, and what is told of it.
@safe final class SocketObject: CFObject, @unchecked Sendable {
  /// *constant*
  let descriptor: CInt
  /// *constant* What it was made to tell.
  let types: UInt
  /// *constant* Whether what it carries has an end. An empty datagram, or an error that a datagram met, is none.
  private let isStream: Bool
  private let callout: CFSocketCallBack?
  private let state: Guarded<State>

  private struct State {
    /// Nil once the socket is invalid.
    var info: Info?
    var flags: UInt
    /// What is told at present: `Told` bits.
    var enabled: UInt
    /// Kept by its users and the loop that it is in.
    weak var source: SocketRunLoopSource?
    /// Nil once the socket is invalid.
    var keeper: Keeper?
    var isEnded = false
  }

  /// What the low two bits of the types mean, and the two others.
  enum Told {
    static let input: UInt = 3
    static let connect: UInt = 4
    static let write: UInt = 8
  }

  private init(_ descriptor: CInt, _ types: UInt, _ callout: CFSocketCallBack?, _ info: Info) {
    self.descriptor = descriptor
    self.types = types
    isStream = rondo_cf_is_stream(descriptor) != 0
    // A connection that is ready may be gone, or another process's, before it is accepted.
    if types & Told.input == 2 { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) }
    unsafe self.callout = unsafe callout
    // Everything but room to write is told again by itself, and the descriptor is closed.
    state = Guarded(State(info: info, flags: types & Told.input | 128, enabled: types, keeper: Keeper(descriptor)))
  }

  deinit {
    invalidate()
  }

  /// Closes the descriptor when neither the socket nor a loop that watches it needs it: before, its number could be
  /// another file's.
  private final class Keeper: Sendable {
    private let descriptor: CInt
    let closes = Atomic<Bool>(false)

    init(_ descriptor: CInt) {
      self.descriptor = descriptor
    }

    deinit {
      if closes.load(ordering: .relaxed) { close(descriptor) }
    }
  }

  private struct Weak {
    weak var socket: SocketObject?
  }

  private static let known = Guarded<[CInt: Weak]>([:])

  /// The socket of a descriptor, which is new unless there is a valid one.
  static func of(
    _ descriptor: CInt, _ types: UInt, _ callout: CFSocketCallBack?, _ makeInfo: () -> Info
  ) -> SocketObject {
    if let found = known.withLock({ $0[descriptor]?.socket }), found.isValid { return found }
    let socket = unsafe SocketObject(descriptor, types, callout, makeInfo())
    known.withLock { $0[descriptor] = Weak(socket: socket) }
    return socket
  }

  override class var typeID: UInt { 43 }
  override var text: String { "\(head("CFSocket")){valid = \(isValid ? "Yes" : "No"), socket = \(descriptor)}" }

  var isValid: Bool { state.withLock { !$0.isEnded } }
  var info: Info? { state.withLock { $0.info } }

  var flags: UInt {
    get { state.withLock { $0.flags } }
    set { state.withLock { $0.flags = newValue } }
  }

  // MARK: - What is told

  func enable(_ types: UInt) {
    change { $0 | types & self.types }
  }

  func disable(_ types: UInt) {
    change { $0 & ~types }
  }

  private func change(_ change: (UInt) -> UInt) {
    let source = state.withLock { state in
      state.enabled = change(state.enabled)
      return state.source
    }
    source?.item?.enabled = interest
  }

  private var interest: Loop.DescriptorSource.Readiness {
    let enabled = state.withLock { $0.enabled }
    var interest: Loop.DescriptorSource.Readiness = []
    if enabled & Told.input != 0 { interest.insert(.read) }
    if enabled & Told.write != 0 { interest.insert(.write) }
    return interest
  }

  /// The one source of the socket.
  func source(order: Int) -> SocketRunLoopSource? {
    guard isValid else { return nil }
    if let found = state.withLock({ $0.source }), found.isValid { return found }
    let link = Link()
    link.socket = self
    let keeper = state.withLock { $0.keeper }
    let item = try? Loop.DescriptorSource(descriptor, for: interest, order: order) { _, readiness in
      withExtendedLifetime(keeper) { link.socket?.tell(readiness) }
    }
    guard let item else { return nil }
    let source = SocketRunLoopSource(order: order, item, of: self)
    state.withLock { $0.source = source }
    return source
  }

  /// What the item goes through, or it would keep the socket.
  private final class Link: @unchecked Sendable {
    /// *constant* once set, before the item is in a loop.
    weak var socket: SocketObject?
  }

  // MARK: - Callouts

  /// The loop's thread. Calls out.
  private func tell(_ readiness: Loop.DescriptorSource.Readiness) {
    if !readiness.isDisjoint(with: [.read, .closed]) { tellInput() }
    guard readiness.contains(.write), take(Told.write) else { return }
    unsafe callOut(CFSocketCallBackType.writeCallBack, nil, nil)
  }

  /// Whether it is to be told now. It is not told again unless its flag says so.
  private func take(_ told: UInt) -> Bool {
    let isTold = state.withLock { state in
      guard !state.isEnded, state.enabled & told != 0 else { return false }
      if state.flags & told == 0 { state.enabled &= ~told }
      return true
    }
    if isTold { change { $0 } }
    return isTold
  }

  private func tellInput() {
    guard take(Told.input) else { return }
    switch types & Told.input {
    case 1:
      // The end of a stream is told once.
      if isStream, rondo_cf_is_at_end(descriptor) != 0 { disable(Told.input) }
      unsafe callOut(.readCallBack, nil, nil)
    case 2:
      var accepted = rondo_cf_accept(descriptor)
      guard accepted >= 0 else { return }
      unsafe callOut(.acceptCallBack, nil, &accepted)
    default:
      let count = 65_536
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
      defer { unsafe buffer.deallocate() }
      let received = unsafe rondo_cf_receive(descriptor, buffer.baseAddress, count)
      // A stream that failed has nothing more to read either.
      let isOver = isStream && received <= 0 && received != -Int(EAGAIN) && received != -Int(EINTR)
      guard received >= 0 || isOver else { return }
      let data = unsafe DataObject(buffer.prefix(max(0, received)))
      withExtendedLifetime(data) { unsafe callOut(.dataCallBack, nil, UnsafeRawPointer(data.pointer)) }
      // The end of the data is the end of the socket.
      if isOver { invalidate() }
    }
  }

  private func callOut(_ type: CFSocketCallBackType, _ address: UnsafeRawPointer?, _ data: UnsafeRawPointer?) {
    guard let info else { return }
    unsafe info.bracketing { held in unsafe callout?(pointer, type, address, data, held) }
  }

  // MARK: - The end

  /// Calls out.
  func invalidate() {
    let ended = state.withLock { state -> (Info?, Keeper?, SocketRunLoopSource?)? in
      if state.isEnded { return nil }
      state.isEnded = true
      state.keeper?.closes.store(state.flags & 128 != 0, ordering: .relaxed)
      return (state.info.take(), state.keeper.take(), state.source)
    }
    guard let (info, keeper, source) = ended else { return }
    Self.known.withLock { known in
      if let socket = known[descriptor]?.socket, socket !== self { return }
      known[descriptor] = nil
    }
    source?.invalidate()
    // Closed here, unless a loop has yet to let go.
    _ = keeper
    info?.end()
  }
}

/// The source by which a loop tells of a socket.
final class SocketRunLoopSource: SourceObject, @unchecked Sendable {
  /// *constant*
  let item: Loop.DescriptorSource?
  /// *constant*
  private let owner: SocketObject

  init(order: Int, _ item: Loop.DescriptorSource, of owner: SocketObject) {
    self.item = item
    self.owner = owner
    super.init(order: order)
  }

  override func isMember(of loop: Loop) -> Bool { item.map { loop.holds($0) } ?? false }
  override func endItem() { item?.invalidate() }
  override func add(to loop: Loop, _ mode: Loop.Mode) { if let item { loop.add(item, to: mode) } }
  override func remove(from loop: Loop, _ mode: Loop.Mode) { if let item { loop.remove(item, from: mode) } }
  override func contains(in loop: Loop, _ mode: Loop.Mode) -> Bool { item.map { loop.contains($0, in: mode) } ?? false }
}
