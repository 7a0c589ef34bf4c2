import Glibc
import Rondo

/// A socket in a run loop. It tells of connections, data, room to write and the peer's end. See CFSocket.
///
/// One loop at a time, several modes: `loop.add(source, to: .common)`. The handler is called on the loop's thread, one
/// event a callout; everything else may be called from any thread. The loop keeps an added source alive.
public final class SocketSource: @unchecked Sendable {
  /// *its lock* Outside the loop's locks; held across no callout.
  let state: Guarded<SocketState>

  /// What a source calls out for. See CFSocketCallBackType.
  public struct Callbacks: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// There is something to read, and the handler reads it with `receive`.
    public static let read = Callbacks(rawValue: 1)
    /// A connection came in, and was accepted.
    public static let accept = Callbacks(rawValue: 2)
    /// Data came in, and was read.
    public static let data = Callbacks(rawValue: 4)
    /// There is room to write.
    public static let write = Callbacks(rawValue: 8)

    /// The ones that take what comes in, of which a source has one at most.
    static let input: Callbacks = [.read, .accept, .data]
  }

  /// What the handler is told.
  public enum Event: Sendable {
    /// A connection that was begun is there. Once, and before anything else.
    case connected
    /// A connection that was begun could not be made: the source is invalid afterwards.
    case connectFailed(SocketError)
    /// Somebody connected; the connection is closed with the last reference to it.
    case accepted(Socket, from: SocketAddress)
    /// No descriptor or memory is left for a connection. It goes on waiting, and is tried again by itself after this
    /// time, or at once when `.accept` is enabled by hand.
    case acceptPaused(SocketError, for: Duration)
    /// There is something to read, or the end of it.
    case readable
    /// Data came in; `from` is the sender of a datagram that has a name.
    case received([UInt8], from: SocketAddress?)
    /// The peer sends no more. The source is still valid and can send: invalidate it when done.
    case end
    /// There is room to write.
    case writable
    /// No more than `lowWater` is left of what `send` had to keep back. Time to send more.
    case sent
    /// The connection is over, or the loop cannot watch the socket. The source is invalid afterwards. A datagram socket
    /// may stay valid: one datagram was refused then.
    case failed(SocketError)
  }

  /// A source for an open socket. The callbacks start out enabled.
  ///
  /// - Parameter callbacks: At most one of `.read`, `.accept` and `.data`, with or without `.write`.
  public init(
    _ socket: Socket, for callbacks: Callbacks, order: Int = 0, fileID: StaticString = #fileID,
    line: UInt = #line, handler: sending @escaping (SocketSource, Event) -> Void
  ) {
    Self.check(callbacks, fileID, line)
    state = Guarded(
      SocketState(
        socket: socket, callbacks: callbacks, order: order, label: Label(fileID: fileID, line: line), phase: .ready,
        handler: handler))
  }

  /// A source for a stream that begins to connect to `address` now.
  ///
  /// - Parameters:
  ///   - timeout: How long it may take, from when it is added to a loop; nil leaves that to the kernel.
  ///   - options: Set before it connects.
  /// - Throws: What fails at once. What fails later is told as `.connectFailed`.
  public convenience init(
    connectingTo address: SocketAddress, options: [Socket.Option] = [], timeout: Duration? = nil,
    for callbacks: Callbacks, order: Int = 0, fileID: StaticString = #fileID,
    line: UInt = #line, handler: sending @escaping (SocketSource, Event) -> Void
  ) throws(SocketError) {
    Self.check(callbacks, fileID, line)
    let socket = try Socket(family: address.family, .stream)
    for option in options { try socket.set(option) }
    var isBusy = false
    do {
      _ = try socket.connect(to: address)
    } catch SocketError.busy {
      isBusy = true
    } catch {
      throw error
    }
    let attempt = ConnectAttempt(address: address, timeout: timeout, isBusy: isBusy)
    self.init(
      SocketState(
        socket: socket, callbacks: callbacks, order: order, label: Label(fileID: fileID, line: line),
        phase: .connecting(attempt), handler: handler))
  }

  private init(_ state: SocketState) {
    self.state = Guarded(state)
  }

  deinit {
    guard Hint.isOn, let place = state.withLock({ $0.placeIfNeverAdded }) else { return }
    Hint.say(
      of: place, "The socket source \(place) was freed and never added to a loop. Add it to one, which keeps it.")
  }

  private static func check(_ callbacks: Callbacks, _ fileID: StaticString, _ line: UInt) {
    let input = callbacks.intersection(.input)
    contract(
      input.rawValue.nonzeroBitCount <= 1,
      "A socket source takes what comes in in one way. Choose one of .read, .accept and .data.", file: fileID,
      line: line)
  }

  // MARK: - State

  /// The socket; nil once the source is invalid. The last one that holds it closes it.
  public var socket: Socket? {
    state.withLock { $0.socket }
  }

  /// Whether the source can still be called.
  public var isValid: Bool {
    state.withLock { $0.socket != nil && $0.item?.isValid != false }
  }

  /// Ends the source and, unless somebody else holds the socket, closes it. See CFSocketInvalidate.
  ///
  /// Nothing is called afterwards, except that a callout running at this moment is not waited for. The descriptor is
  /// closed at once on the loop's thread; asked for elsewhere, when the loop has let go of it.
  public func invalidate() {
    let old = state.withLock { state in
      defer {
        state.socket = nil
        state.handler = nil
        state.item = nil
        state.timer = nil
        state.keeper = nil
        state.outbox = Outbox()
        state.membership.leaveAll()
      }
      return state
    }
    // A closure may own anything: it dies with the old state, outside the lock.
    let (item, keeper) = (old.item, old.keeper)
    old.timer?.invalidate()
    item?.invalidate()
    keeper?.release(by: old.loop)
  }

  // MARK: - Callbacks

  /// The callbacks that stay enabled when they have been called. The others are told once for each `enable`.
  ///
  /// Everything but `.write` by default. See CFSocketSetSocketFlags.
  public var reenables: Callbacks {
    get { state.withLock { $0.reenables } }
    set { state.withLock { $0.reenables = newValue } }
  }

  /// The callbacks that are told at present.
  public var enabled: Callbacks {
    state.withLock { $0.enabled }
  }

  /// Tells `callbacks` from now on. Those the source was not made for are a programmer's error.
  public func enable(_ callbacks: Callbacks) {
    let pause = state.withLock { state -> Loop.Timer? in
      contract(
        callbacks.isSubset(of: state.callbacks), "This socket source was made for \(state.callbacks.rawValue) alone.")
      state.enabled.formUnion(callbacks)
      let isResumed = callbacks.contains(.accept) && state.isPaused
      if isResumed { state.isPaused = false }
      state.updateInterest()
      return isResumed ? state.takeTimer() : nil
    }
    pause?.invalidate()
  }

  /// Stops telling `callbacks`, at once.
  public func disable(_ callbacks: Callbacks) {
    state.withLock { state in
      state.enabled.subtract(callbacks)
      state.updateInterest()
    }
  }

  // MARK: - Transfer

  /// Sends bytes in order. What the socket does not take at once is kept, and sent when there is room.
  ///
  /// `.sent` is told when something was kept and has gone. O(1) if the kernel takes them all: nothing is copied.
  ///
  /// - Throws: `.reset` if the peer has gone, `.invalid`, `.congested` past `queueLimit`, with nothing taken; for a
  ///   datagram `.busy` if there is no room now, `.tooLong`.
  public func send(_ bytes: [UInt8]) throws(SocketError) {
    try unsafe send(bytes.span.bytes)
  }

  /// The same of a slice of an array.
  public func send(_ bytes: ArraySlice<UInt8>) throws(SocketError) {
    try unsafe send(bytes.span.bytes)
  }

  /// The same of any memory. What the kernel does not take is copied before it returns.
  public func send(_ bytes: RawSpan) throws(SocketError) {
    try state.withLock { state throws(SocketError) in try state.send(bytes) }
  }

  /// How many bytes wait for room.
  public var queuedByteCount: Int {
    state.withLock { $0.outbox.count }
  }

  /// Whether more than `highWater` bytes have waited, and since then more than `lowWater`.
  ///
  /// When it ends, `.sent` is told. Who reads from a peer that does not read in turn disables `.data` meanwhile.
  public var isCongested: Bool {
    state.withLock { $0.isCongested }
  }

  /// How many bytes may wait before the source is congested. At first 0: whatever has to wait congests it.
  public var highWater: Int {
    get { state.withLock { $0.marks.high } }
    set { state.withLock { $0.marks.high = Self.checkedMark(newValue) } }
  }

  /// How few bytes have to be left for `.sent`. 0 at first: all have gone.
  public var lowWater: Int {
    get { state.withLock { $0.marks.low } }
    set { state.withLock { $0.marks.low = Self.checkedMark(newValue) } }
  }

  /// The most bytes that wait: a `send` that would need more is refused whole. None at first.
  ///
  /// A piece that finds nothing waiting is always taken: the kernel may have a part of it already.
  public var queueLimit: Int {
    get { state.withLock { $0.marks.limit } }
    set { state.withLock { $0.marks.limit = Self.checkedMark(newValue) } }
  }

  private static func checkedMark(_ bytes: Int) -> Int {
    contract(bytes >= 0, "A number of bytes that wait is 0 or more, not \(bytes).")
    return bytes
  }

  /// Sends no more after what is queued. The peer reads to an end, and can still send. See shutdown(2).
  public func finishSending() throws(SocketError) {
    try state.withLock { state throws(SocketError) in
      state.finishesSending = true
      try state.finishIfSent()
    }
  }

  /// Reads at most `limit` bytes, for a source with `.read`. At the end, the source stops asking for more.
  ///
  /// - Throws: `.reset` if the peer has gone without notice, `.invalid`.
  public func receive(atMost limit: Int = 65_536) throws(SocketError) -> Socket.Received {
    try state.withLock { state throws(SocketError) in
      guard let socket = state.socket else { throw .invalid }
      let received = try socket.receive(atMost: limit)
      if received == .end {
        state.hasEnded = true
        state.updateInterest()
      }
      return received
    }
  }
}
