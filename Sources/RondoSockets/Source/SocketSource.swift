import Glibc
package import Rondo

/// Calls its handler for events of a socket: connections, data, room, end. See CFSocket.
///
/// A source is in one loop at a time, in several modes: `loop.add(source, to: .common)`. The handler is called on the
/// loop's thread, with one event. Use every member from any thread. The loop keeps an added source.
public final class SocketSource: @unchecked Sendable {
  /// *its lock* Outside the loop's locks; held across no callout.
  package let state: Guarded<SocketState>

  /// The kinds of events for which a source calls its handler. See CFSocketCallBackType.
  public struct Callbacks: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// One bit for each kind.
    public let rawValue: UInt8
    /// Makes a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Data or an end is available, and the handler reads it with `receive`.
    public static let read = Callbacks(rawValue: 1)
    /// The source accepted a connection.
    public static let accept = Callbacks(rawValue: 2)
    /// The source read data.
    public static let data = Callbacks(rawValue: 4)
    /// The socket has room to write.
    public static let write = Callbacks(rawValue: 8)

    /// The names of the kinds, separated by `|`.
    public var description: String {
      let names: [(Callbacks, String)] = [(.read, "read"), (.accept, "accept"), (.data, "data"), (.write, "write")]
      return names.filter { contains($0.0) }.map(\.1).joined(separator: "|")
    }

    /// The ones that take what comes in, of which a source has one at most.
    static let input: Callbacks = [.read, .accept, .data]
  }

  /// An event of a socket source.
  public enum Event: Sendable {
    /// The socket is connected. Comes once, before any other event.
    case connected
    /// The socket could not be connected. The source is then invalid.
    case connectFailed(SocketError)
    /// A client connected. Keep the socket: it closes when its last reference is released.
    case accepted(Socket, from: SocketAddress)
    /// No descriptor or memory is left for a connection, which stays in the queue.
    ///
    /// Or more than 16 connections in a row have failed. The source tries again after this time, or immediately when you
    /// enable `.accept`.
    case acceptPaused(SocketError, for: Duration)
    /// Data or the end of the data is available to read.
    case readable
    /// The source read bytes of a stream.
    case received([UInt8])
    /// The source read a datagram.
    case datagram(Socket.Datagram)
    /// The peer sends no more. The source is still valid and can send: invalidate it afterwards.
    case end
    /// The socket has room to write.
    case writable
    /// At most `lowWater` bytes are left of the data that `send` kept. You can send more.
    case sent
    /// The connection failed, or the loop cannot watch the socket. The source is then invalid.
    ///
    /// After an error for one datagram, a datagram source may stay valid.
    case failed(SocketError)
  }

  /// Makes a source for an open socket, with all its callbacks enabled.
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

  /// Makes a source for a stream socket, and begins to connect it to `address`.
  ///
  /// - Parameters:
  ///   - timeout: How long connecting may take, from when you add the source to a loop; nil for the kernel's limit.
  ///   - options: Set before it connects.
  /// - Throws: Immediate errors of socket(2) and connect(2). A later error comes as `.connectFailed`.
  public convenience init(
    connectingTo address: SocketAddress, options: [Socket.Option] = [], timeout: Duration? = nil,
    for callbacks: Callbacks, order: Int = 0, fileID: StaticString = #fileID,
    line: UInt = #line, handler: sending @escaping (SocketSource, Event) -> Void
  ) throws(SocketError) {
    Self.check(callbacks, fileID, line)
    let socket = try Socket(family: address.family, .stream)
    for option in options { try socket.set(option) }
    let isBusy = try socket.tryToConnect(to: address) == .busy
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
    require(
      input.rawValue.nonzeroBitCount <= 1,
      "A socket source takes what comes in in one way. Choose one of .read, .accept and .data.", file: fileID,
      line: line)
  }

  // MARK: - State

  /// The socket; nil once the source is invalid. It closes when its last reference is released.
  public var socket: Socket? {
    state.withLock { $0.socket }
  }

  /// Whether the source can still call its handler.
  public var isValid: Bool {
    state.withLock { $0.socket != nil && $0.item?.isValid != false }
  }

  /// Ends the source, and closes the socket unless you keep a reference. See CFSocketInvalidate.
  ///
  /// The handler is not called afterwards. The call does not wait for a callout that is running. On the loop's thread
  /// the descriptor closes immediately; from another thread, when the loop's thread has removed the source.
  public func invalidate() {
    let old = state.withLock { state in
      defer {
        state.socket = nil
        state.handler = nil
        state.item = nil
        state.timer = nil
        state.keeper = nil
        state.outbox = ByteQueue()
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

  /// The callbacks that are enabled at present. A call of `.write` disables it.
  public var enabled: Callbacks {
    state.withLock { $0.enabled }
  }

  /// Enables `callbacks`. A callback that the source was not made for traps.
  public func enable(_ callbacks: Callbacks) {
    let pause = state.withLock { state -> Loop.Timer? in
      require(
        callbacks.isSubset(of: state.callbacks),
        "This socket source was made for \(state.callbacks) alone, and cannot enable \(callbacks).")
      state.enabled.formUnion(callbacks)
      let isResumed = callbacks.contains(.accept) && state.isPaused
      if isResumed { state.isPaused = false }
      state.updateInterest()
      return isResumed ? state.takeTimer() : nil
    }
    pause?.invalidate()
  }

  /// Disables `callbacks` immediately.
  public func disable(_ callbacks: Callbacks) {
    state.withLock { state in
      state.enabled.subtract(callbacks)
      state.updateInterest()
    }
  }

  // MARK: - Transfer

  /// Sends bytes in order. It keeps the bytes that the socket does not take, and sends them later.
  ///
  /// When kept bytes have been sent, the handler is called with `.sent`. If the kernel takes all bytes, nothing is
  /// copied.
  ///
  /// - Throws: `.reset` if the connection is closed or reset, `.invalid`. For a stream, `.congested` past `queueLimit`;
  ///   no byte is then taken. For a datagram, `.busy` if the socket has no room now, `.tooLong` if it does not fit.
  public func send(_ bytes: [UInt8]) throws(SocketError) {
    try unsafe send(bytes.span.bytes)
  }

  /// Sends bytes of a slice.
  public func send(_ bytes: ArraySlice<UInt8>) throws(SocketError) {
    try unsafe send(bytes.span.bytes)
  }

  /// Sends bytes of any memory, and copies those that the kernel does not take.
  public func send(_ bytes: RawSpan) throws(SocketError) {
    try state.withLock { state throws(SocketError) in try state.send(bytes) }
  }

  /// The number of bytes that wait for room.
  public var queuedByteCount: Int {
    state.withLock { $0.outbox.count }
  }

  /// Whether data waits for a slow peer: more than `highWater` bytes, until `lowWater` is left.
  ///
  /// When it becomes false, the handler is called with `.sent`. While it is true, disable `.data` of the source from
  /// which you relay, or close the slow peer.
  public var isCongested: Bool {
    state.withLock { $0.isCongested }
  }

  /// The source is congested when more bytes than this wait for room.
  ///
  /// At first 0: any byte that waits congests it.
  public var highWater: Int {
    get { state.withLock { $0.marks.high } }
    set { state.withLock { $0.marks.high = Self.checkedMark(newValue) } }
  }

  /// The handler is called with `.sent` when at most this many bytes wait. At first 0.
  public var lowWater: Int {
    get { state.withLock { $0.marks.low } }
    set { state.withLock { $0.marks.low = Self.checkedMark(newValue) } }
  }

  /// The most bytes that may wait for room. At first 64 MiB; `Int.max` is no limit.
  ///
  /// A `send` that would exceed it takes no byte and throws `.congested`. If nothing waits, a piece of any size is
  /// taken, since the kernel may have sent part of it.
  public var queueLimit: Int {
    get { state.withLock { $0.marks.limit } }
    set { state.withLock { $0.marks.limit = Self.checkedMark(newValue) } }
  }

  private static func checkedMark(_ bytes: Int) -> Int {
    require(bytes >= 0, "A number of bytes that wait is 0 or more, not \(bytes).")
    return bytes
  }

  /// Ends sending after the queued bytes. The peer can still send. See shutdown(2).
  ///
  /// - Throws: `.invalid`, and errors of shutdown(2).
  public func finishWriting() throws(SocketError) {
    try state.withLock { state throws(SocketError) in
      state.finishesSending = true
      try state.finishIfSent()
    }
  }

  /// Reads at most `limit` bytes, for a source with `.read`.
  ///
  /// At the end of the data, the source stops calls for reading.
  ///
  /// - Throws: `.reset` if the peer closed the connection abruptly, `.invalid`.
  public func receive(limit: Int = 65_536) throws(SocketError) -> Socket.Received {
    try state.withLock { state throws(SocketError) in
      guard let socket = state.socket else { throw .invalid }
      let received = try socket.receive(limit: limit)
      if received == .end {
        state.hasEnded = true
        state.updateInterest()
      }
      return received
    }
  }
}
