#if TLS
  public import Rondo
  internal import RondoGuests
  public import RondoSockets

  /// A TLS connection in a mode of a loop, by OpenSSL on libevent.
  ///
  /// `try loop.add(connection)` adds it to one mode of one loop, which keeps it until it ends. From then on, use it on
  /// the loop's thread only: a member called on another thread traps. The loop calls the handler on that thread. Its
  /// callouts are those of `Loop.withEventBase(in:_:)`: a run nested in one serves no TLS connection of the same mode.
  ///
  /// ```swift
  /// let connection = TLSConnection(accepting: socket, with: context) { connection, event in
  ///   switch event {
  ///   case .received(let bytes): try? connection.send(bytes)
  ///   case .end: connection.close()
  ///   case .failed(let error): print(error)
  ///   default: break
  ///   }
  ///   // Stop reading from a client that does not read.
  ///   if connection.isValid { connection.isReceiving = !connection.isCongested }
  /// }
  /// do { try loop.add(connection) } catch { print(error) }
  /// ```
  public final class TLSConnection: @unchecked Sendable {
    // Unchecked because of what only the loop's thread touches once the connection is in a loop; before, its maker.

    /// *constant*
    public let limits: Limits
    /// What the session is to be made of, until it is.
    @safe @exclusivity(unchecked) private var plan: TLSSession.Plan?
    @safe @exclusivity(unchecked) private var handler: ((TLSConnection, Event) -> Void)?
    @safe @exclusivity(unchecked) private var stay: Stay?
    /// Whether the handshake is over.
    @safe @exclusivity(unchecked) private var isOpen = false
    @safe @exclusivity(unchecked) private var isPaused = false
    /// Whether the peer has ended its side.
    @safe @exclusivity(unchecked) private var hasEnded = false
    /// Whether our side ends once everything is sent.
    @safe @exclusivity(unchecked) private var isFinishing = false
    /// Whether the handler is called no more, and the connection ends with its last bytes.
    @safe @exclusivity(unchecked) private var isClosing = false
    /// Whether `.writable` is owed, and `.sent`.
    @safe @exclusivity(unchecked) private var isAboveMark = false
    @safe @exclusivity(unchecked) private var hasQueued = false
    /// How many bytes had moved when its time was over before.
    @safe @exclusivity(unchecked) private var movedBefore: UInt64 = 0

    /// What it has in its loop.
    private struct Stay {
      let loop: Loop
      let mode: Loop.Mode
      let session: TLSSession
      /// Keeps the connection alive, and hears of the loop's end.
      let keeper: Loop.Source
      /// For the handshake, then for idleness, at last for closing.
      let timeout: Loop.Timeout
    }

    /// Makes the server's side of an accepted connection.
    public convenience init(
      accepting socket: Socket, with context: TLSServerContext, limits: Limits = Limits(),
      handler: sending @escaping (TLSConnection, Event) -> Void
    ) {
      self.init(.init(socket: socket, context: context.handle, host: nil), limits, handler)
    }

    /// Begins to connect to `address`, and makes the client's side of the connection.
    ///
    /// - Parameter host: The name or address that the server's certificate must match. A name is sent to the server
    ///   (SNI). It is in ASCII, with `xn--…` for international labels; `Loop.add` throws for any other.
    /// - Throws: Errors of socket(2), and immediate errors of connect(2). A later error is the event `.failed`.
    public convenience init(
      connectingTo address: SocketAddress, as host: String, with context: TLSClientContext, limits: Limits = Limits(),
      handler: sending @escaping (TLSConnection, Event) -> Void
    ) throws(SocketError) {
      let socket = try Socket(family: address.family, .stream)
      _ = try socket.connect(to: address)
      self.init(over: socket, as: host, with: context, limits: limits, handler: handler)
    }

    /// Makes the client's side of a connection on a connected or connecting socket.
    public convenience init(
      over socket: Socket, as host: String, with context: TLSClientContext, limits: Limits = Limits(),
      handler: sending @escaping (TLSConnection, Event) -> Void
    ) {
      self.init(.init(socket: socket, context: context.handle, host: host), limits, handler)
    }

    private init(_ plan: TLSSession.Plan, _ limits: Limits, _ handler: @escaping (TLSConnection, Event) -> Void) {
      require(plan.socket.kind == .stream, "TLS needs a stream. Make the socket with Socket(family:, .stream).")
      require(
        0...limits.highWater ~= limits.lowWater && limits.highWater <= limits.queue,
        "The low water mark is from 0 to the high one, and that at most what may wait. Change Limits.")
      self.plan = plan
      self.limits = limits
      self.handler = handler
    }

    // MARK: - State

    /// Whether the connection has not ended.
    public var isValid: Bool {
      checkThread()
      return plan != nil || stay != nil
    }

    /// The socket; nil after the end. It closes when its last reference is released.
    public var socket: Socket? {
      checkThread()
      return plan?.socket ?? stay?.session.socket
    }

    /// The protocol that ALPN chose; nil without one, before the handshake, and after the end.
    public var applicationProtocol: String? {
      checkThread()
      return isOpen ? stay?.session.chosenProtocol : nil
    }

    /// The TLS version, as `TLSv1.3`; nil before the handshake and after the end.
    public var version: String? {
      checkThread()
      return isOpen ? stay?.session.version : nil
    }

    private func checkThread() {
      guard stay?.loop.isCurrent == false else { return }
      fatalError(
        "This connection belongs to the thread of its loop. Use loop.perform { connection.… } there.")
    }

    // MARK: - Sending

    /// Queues a copy of bytes, and sends them in order.
    ///
    /// You can queue bytes before the handshake has ended.
    ///
    /// - Throws: `.queueFull`, `.sendingFinished`, `.invalid`, `.noMemory`. No byte is then queued.
    public func send(_ bytes: [UInt8]) throws(TLSError) {
      try send(unsafe bytes.span.bytes)
    }

    /// Queues a copy of a slice's bytes.
    public func send(_ bytes: ArraySlice<UInt8>) throws(TLSError) {
      try send(unsafe bytes.span.bytes)
    }

    /// Queues a copy of bytes of any memory.
    public func send(_ bytes: RawSpan) throws(TLSError) {
      checkThread()
      guard let session = stay?.session, !isClosing else { throw .invalid }
      if isFinishing { throw .sendingFinished }
      if bytes.isEmpty { return }
      guard session.queuedByteCount + bytes.byteCount <= limits.queue else { throw .queueFull(limit: limits.queue) }
      guard session.send(bytes) else { throw .noMemory }
      hasQueued = true
      if session.queuedByteCount > limits.highWater { isAboveMark = true }
    }

    /// The number of bytes that wait to be sent.
    public var queuedByteCount: Int {
      checkThread()
      return stay?.session.queuedByteCount ?? 0
    }

    /// Whether data waits for a slow peer: more than `highWater` bytes, until `lowWater` is left.
    ///
    /// When it becomes false, the handler is called with `.writable`.
    public var isCongested: Bool {
      checkThread()
      return isAboveMark
    }

    /// Ends sending with close_notify after the queued bytes. The peer can still send.
    ///
    /// - Throws: `.invalid`.
    public func finishSending() throws(TLSError) {
      checkThread()
      guard let session = stay?.session, !isClosing else { throw .invalid }
      isFinishing = true
      session.finish()
    }

    // MARK: - Receiving

    /// Whether the connection reads. If false, data waits in the kernel and slows the peer.
    public var isReceiving: Bool {
      get {
        checkThread()
        return !isPaused
      }
      set {
        checkThread()
        isPaused = !newValue
        guard let stay, !hasEnded else { return }
        if isPaused { return stay.session.pause() }
        // Outside the loop's callouts, a host would not hear of what can be read at once.
        resume(stay)
        armIdle()
      }
    }

    private func resume(_ stay: Stay) {
      do { try unsafe stay.loop.withEventBase(in: stay.mode) { _ in stay.session.resume() } } catch {
        fatalError("The mode of a connection has an event base. \(error)")
      }
    }

    // MARK: - Ends

    /// Closes the connection gracefully: sends the queued bytes, then close_notify.
    ///
    /// It ends when the peer's close_notify has arrived, or after `limit`. The handler is not called again. Data that
    /// arrives is dropped. If the handshake has not ended, the call is `invalidate()`.
    public func close(within limit: Duration = .seconds(5)) {
      checkThread()
      if isClosing { return }
      guard let stay, isOpen else { return invalidate() }
      isClosing = true
      // A closure may own anything: it dies last.
      let old = handler.take()
      if isPaused, !hasEnded { resume(stay) }
      stay.session.finish()
      stay.loop.arm(stay.timeout, after: limit)
      endIfClosed()
      _ = old
    }

    /// Ends the connection immediately, and releases the socket. You may call it in the handler.
    ///
    /// Queued bytes are dropped. The peer gets close_notify only if none was queued. The handler is not called again.
    public func invalidate() {
      checkThread()
      end()
    }

    private func end() {
      // A closure may own anything: it dies last.
      let old = (stay, handler, plan)
      stay = nil
      handler = nil
      plan = nil
      guard let stay = old.0 else { return }
      stay.loop.discard(stay.timeout)
      stay.keeper.invalidate()
    }

    // MARK: - What happens

    fileprivate func begin(on loop: Loop, in mode: Loop.Mode) throws(TLSError) {
      require(loop.isCurrent, "A connection is put into a loop on the loop's thread. Use loop.perform { … }.")
      require(stay == nil, "A TLS connection is in one mode of one loop, until it is over. Make another.")
      guard let plan else { throw .invalid }
      if let host = plan.host, !TLSSession.isHost(host) { throw .host(host) }
      let session: TLSSession?
      do {
        session = try unsafe loop.withEventBase(in: mode) { base in
          unsafe TLSSession(plan, lowWater: limits.lowWater, base: base, owner: self)
        }
      } catch {
        switch error {
        case .noDescriptors(let errno): throw .noEventBase(errno: errno)
        }
      }
      guard let session else { throw .noMemory }
      if isPaused { session.pause() }
      let keeper = Loop.Source(cancel: { [weak self] _, _ in self?.end() }, perform: { _ = self })
      loop.add(keeper, to: mode)
      let timeout = loop.makeTimeout(after: limits.handshake, in: mode) { [unowned self] in timeIsUp() }
      stay = Stay(loop: loop, mode: mode, session: session, keeper: keeper, timeout: timeout)
      self.plan = nil
    }

    /// Calls out.
    private func tell(_ event: Event) {
      handler?(self, event)
    }

    /// The connection is over. Calls out.
    private func fail(_ error: TLSError) {
      tell(.failed(error))
      end()
    }

    /// libevent has called back. Calls out.
    func happened(_ happening: TLSSession.Happening) {
      guard let session = stay?.session else { return }
      switch happening {
      case .connected:
        isOpen = true
        if let stay, limits.idle == nil { stay.loop.disarm(stay.timeout) } else { armIdle() }
        tell(.connected)
      case .received:
        armIdle()
        receive(session.takeReceived())
      case .wrote:
        armIdle()
        wrote(session)
      case .end:
        hasEnded = true
        armIdle()
        tell(.end)
      case .failed:
        return fail(session.takeFailure(isOpen: isOpen))
      }
      endIfClosed()
    }

    /// Calls out.
    private func receive(_ bytes: [UInt8]) {
      if !bytes.isEmpty, !isClosing { tell(.received(bytes)) }
    }

    /// Calls out.
    private func wrote(_ session: TLSSession) {
      if isAboveMark, session.queuedByteCount <= limits.lowWater {
        isAboveMark = false
        tell(.writable)
      }
      guard stay != nil, hasQueued, session.queuedByteCount == 0 else { return }
      hasQueued = false
      tell(.sent)
    }

    private func endIfClosed() {
      if isClosing, hasEnded, stay?.session.hasFinished == true { end() }
    }

    // MARK: - Time

    private func armIdle() {
      guard let stay, let idle = limits.idle, isOpen, !isClosing else { return }
      movedBefore = stay.session.movedByteCount
      stay.loop.arm(stay.timeout, after: idle)
    }

    /// Timers go before descriptors in a turn: after a stall of the process, what the peer sent long ago is still unread.
    /// So this looks before it cuts. Calls out.
    private func timeIsUp() {
      guard let stay else { return }
      if isClosing { return end() }
      let limit = isOpen ? limits.idle ?? limits.handshake : limits.handshake
      let moved = stay.session.movedByteCount
      // Without an end of patience a handshake could be made one byte at a time.
      let isLive =
        stay.session.hasSomethingWaiting(isReading: !isPaused && !hasEnded) && (isOpen || !hasWaitedLonger)
        || isOpen && moved != movedBefore
      movedBefore = moved
      if isLive {
        if !isOpen { hasWaitedLonger = true }
        stay.loop.arm(stay.timeout, after: limit)
      } else {
        fail(isOpen ? .idle(for: limit) : .handshakeTimedOut(after: limit))
      }
    }

    /// Whether the handshake has been given its time a second time.
    @safe @exclusivity(unchecked) private var hasWaitedLonger = false
  }

  extension Loop {
    /// Adds a TLS connection to a mode, and begins its handshake. The loop's thread.
    ///
    /// Add each connection once. The call takes five descriptors if the mode has no event base yet, otherwise none.
    /// From then on the mode is never empty: `Loop.stop()` ends its runs.
    ///
    /// - Parameter mode: Not `.common`, which traps.
    /// - Throws: `.noEventBase`, `.noMemory`, `.invalid`, `.host`.
    public func add(_ connection: TLSConnection, to mode: Mode = .default) throws(TLSError) {
      try connection.begin(on: self, in: mode)
    }
  }
#endif
