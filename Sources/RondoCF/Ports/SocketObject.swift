internal import CRondoCFPointers
import Glibc
import Rondo
import RondoSockets
import Synchronization

/// A CFSocket.
@safe final class SocketObject: DescriptorObject, @unchecked Sendable {
  /// *constant* What it was made to tell.
  let types: UInt
  /// *constant* Whether what it carries has an end. An empty datagram, or an error that a datagram met, is none.
  private let isStream: Bool
  private let callout: CFSocketCallBack?
  /// *atomic* A `Stage`.
  private let stage: Atomic<UInt32>

  /// What the low two bits of the types mean, and the two others.
  private enum Told {
    static let input: UInt = 3
    static let connect: UInt = 4
    static let write: UInt = 8
  }

  /// *its own lock* How long to wait for descriptors. Its timer is in a loop while the socket waits.
  private let rest = Guarded<(patience: AcceptPatience, timer: Loop.Timer?)>((AcceptPatience(), nil))

  private enum Input {
    static let read: UInt = 1
    static let accept: UInt = 2
    static let data: UInt = 3
  }

  /// What a socket has to tell.
  private enum Stage: UInt32 {
    /// Nothing yet: it neither listens nor connects.
    case idle
    /// The end of connecting.
    case connecting
    /// Input, and room to write.
    case open
    /// Input, which is the end.
    case failed
  }

  private init(_ descriptor: CInt, _ types: UInt, _ callout: CFSocketCallBack?, _ info: Info) {
    self.types = types
    isStream = rondo_cf_is_stream(descriptor) != 0
    stage = Atomic(UInt32(bitPattern: rondo_cf_stage(descriptor)))
    // A connection that is ready may be gone, or another process's, before it is accepted.
    if types & Told.input == Input.accept { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) }
    unsafe self.callout = unsafe callout
    // Everything but room to write is told again by itself, and the descriptor is closed.
    super.init(descriptor, info, flags: types & Told.input | Self.closes, enabled: types)
  }

  deinit {
    invalidate()
  }

  private struct Weak {
    weak var socket: SocketObject?
  }

  private static let known = PerProcess<[CInt: Weak]>([:])

  /// The socket of a descriptor, which is new unless there is a valid one.
  static func of(
    _ descriptor: CInt, _ types: UInt, _ callout: CFSocketCallBack?, _ makeInfo: () -> Info
  ) -> SocketObject {
    if let found = known.withLock({ $0[descriptor]?.socket }), found.isValid { return found }
    let socket = unsafe SocketObject(descriptor, types, callout, makeInfo())
    known.withLock { $0[descriptor] = Weak(socket: socket) }
    return socket
  }

  override func ended() {
    // The later socket of that number is let go of with nothing held: this may be the last reference.
    _ = Self.known.withLock { known -> SocketObject? in
      if let later = known[descriptor]?.socket, later !== self { return later }
      known[descriptor] = nil
      return nil
    }
    let timer = rest.withLock { $0.timer.take() }
    timer?.invalidate()
  }

  override class var typeID: UInt { 43 }
  override var text: String {
    "\(head("CFSocket")){valid = \(isValid ? "Yes" : "No"), socket = \(descriptor), callback types = \(types)}"
  }

  // MARK: - What is told

  override func interest(_ enabled: UInt) -> Loop.DescriptorSource.Readiness {
    if stage.load(ordering: .relaxed) == Stage.idle.rawValue, isValid { look() }
    var interest: Loop.DescriptorSource.Readiness = []
    switch Stage(rawValue: stage.load(ordering: .relaxed))! {
    case .idle: break
    case .connecting: interest = .write
    case .open:
      if enabled & Told.input != 0, rest.withLock({ $0.timer == nil }) { interest.insert(.read) }
      if enabled & Told.write != 0 { interest.insert(.write) }
    case .failed: if enabled & Told.input != 0 { interest.insert(.read) }
    }
    return interest
  }

  /// Asks the kernel what the socket has to tell.
  private func look() {
    stage.store(UInt32(bitPattern: rondo_cf_stage(descriptor)), ordering: .relaxed)
  }

  /// What is told again by itself.
  private var repeating: UInt { flags & (Told.input | Told.write) }

  override func tell(_ readiness: Loop.DescriptorSource.Readiness) {
    if stage.load(ordering: .relaxed) == Stage.connecting.rawValue { return endConnecting() }
    if !readiness.isDisjoint(with: [.read, .closed]) { tellInput() }
    guard readiness.contains(.write), take(Told.write, repeating: repeating) != 0 else { return }
    unsafe callOut(CFSocketCallBackType.writeCallBack, nil, nil)
  }

  private func endConnecting() {
    var error = flags & UInt(kCFSocketLeaveErrors) == 0 ? rondo_cf_error(descriptor) : 0
    if error == 0 { look() }
    // The kernel told of a socket that does not connect.
    if stage.load(ordering: .relaxed) == Stage.idle.rawValue { return update() }
    stage.store(error == 0 ? Stage.open.rawValue : Stage.failed.rawValue, ordering: .relaxed)
    update()
    guard take(Told.connect, repeating: 0) != 0 else { return }
    if error == 0 { return unsafe callOut(.connectCallBack, nil, nil) }
    unsafe callOut(.connectCallBack, nil, &error)
  }

  private func tellInput() {
    guard take(Told.input, repeating: repeating & types) != 0 else { return }
    var address = Address()
    switch types & Told.input {
    case Input.read:
      // The end of a stream is told once.
      if isStream, rondo_cf_is_at_end(descriptor) != 0 { disable(Told.input) }
      unsafe callOut(.readCallBack, nil, nil)
    case Input.accept:
      var accepted = unsafe address.fill { unsafe rondo_cf_accept(descriptor, $0, $1) }
      guard accepted >= 0 else { return refused(accepted) }
      rest.withLock { $0.patience.reset() }
      unsafe callOut(.acceptCallBack, address.data, &accepted)
    default:
      let count = 65_536
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
      defer { unsafe buffer.deallocate() }
      let received = unsafe address.fill { unsafe rondo_cf_receive(descriptor, buffer.baseAddress, count, $0, $1) }
      // A stream that failed has nothing more to read either.
      let isOver = isStream && received <= 0 && received != -Int(EAGAIN) && received != -Int(EINTR)
      guard received >= 0 || isOver else { return }
      let data = unsafe DataObject(buffer.prefix(max(0, received)))
      let sender = isStream ? peerAddress ?? DataObject([]) : address.data
      withExtendedLifetime(data) { unsafe callOut(.dataCallBack, sender, UnsafeRawPointer(data.pointer)) }
      // The end of the data is the end of the socket.
      if isOver { invalidate() }
    }
  }

  /// A connection could not be accepted. Without descriptors or memory it waits in the queue, and others may fail as well:
  /// the loop must not look at them in each turn.
  private func refused(_ result: CInt) {
    // Of a callback that is not told again by itself nothing was told.
    enable(Told.input & types)
    if result == -EAGAIN { return rest.withLock { $0.patience.reset() } }
    let error = SocketError(.accept, result)
    let (isFirst, pause) = rest.withLock { rest in
      (
        !rest.patience.hasPaused,
        error.isShortage ? rest.patience.pauseAfterShortage() : rest.patience.pauseAfterFailure()
      )
    }
    guard let pause else { return }
    let timer = Loop.Timer(after: pause) { [weak self] _ in
      self?.rest.withLock { $0.timer = nil }
      self?.update()
    }
    timer.name = "pause of a CFSocket that cannot accept"
    rest.withLock { $0.timer = timer }
    update()
    if isFirst { warn("a CFSocket's connections wait: \(error)") }
    let loop = Loop.current
    loop.add(timer, to: .common)
    if let mode = loop.currentMode { loop.add(timer, to: mode) }
  }

  private func callOut(_ type: CFSocketCallBackType, _ address: DataObject?, _ data: UnsafeRawPointer?) {
    guard let info else { return }
    withExtendedLifetime(address) {
      unsafe info.bracketing { held in
        unsafe callout?(pointer, type, address.map { unsafe UnsafeRawPointer($0.pointer) }, data, held)
      }
    }
  }

  // MARK: - Addresses

  var address: DataObject? { address(ofPeer: false) }
  var peerAddress: DataObject? { address(ofPeer: true) }

  private func address(ofPeer: Bool) -> DataObject? {
    guard isValid else { return nil }
    var address = Address()
    let result = unsafe address.fill { unsafe rondo_cf_address(descriptor, ofPeer ? 1 : 0, $0, $1) }
    return result < 0 ? nil : address.data
  }

  /// Binds, and has a stream listen.
  ///
  /// - Returns: 0, or minus errno.
  func bind(_ address: DataObject) -> CInt {
    let result = unsafe rondo_cf_bind(descriptor, address.bytes.baseAddress, address.bytes.count)
    update()
    return result
  }

  /// Connects. A negative timeout leaves the rest to the loop.
  ///
  /// - Returns: 0, or minus errno.
  func connect(_ address: DataObject, timeout: Double) -> CInt {
    let result = unsafe rondo_cf_connect(descriptor, address.bytes.baseAddress, address.bytes.count, timeout)
    switch result {
    // The loop tells of a connection that is there already, too.
    case 0 where types & Told.connect == 0: stage.store(Stage.open.rawValue, ordering: .relaxed)
    case 0, -EINPROGRESS: stage.store(Stage.connecting.rawValue, ordering: .relaxed)
    default: look()
    }
    update()
    return result == -EINPROGRESS ? 0 : result
  }

  /// Sends all of it.
  ///
  /// - Returns: 0, or minus errno.
  func send(_ data: DataObject, to address: DataObject?, timeout: Double) -> CInt {
    unsafe rondo_cf_send(
      descriptor, address?.bytes.baseAddress, address?.bytes.count ?? 0, data.bytes.baseAddress, data.bytes.count,
      timeout)
  }

  /// Room for a struct sockaddr of any family.
  private struct Address {
    private var bytes = [UInt8](repeating: 0, count: 128)
    private var size = 0

    mutating func fill<Result>(_ call: (UnsafeMutableRawPointer?, UnsafeMutablePointer<Int>?) -> Result) -> Result {
      size = bytes.count
      return unsafe bytes.withUnsafeMutableBytes { bytes in unsafe call(bytes.baseAddress, &size) }
    }

    var data: DataObject { DataObject(bytes.prefix(size)) }
  }
}
