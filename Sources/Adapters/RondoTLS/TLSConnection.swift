#if TLS
  public import Rondo
  public import RondoSockets

  /// A TLS connection in a mode of a loop, by OpenSSL on libevent.
  ///
  /// It is put into one mode of one loop, and stays there until it is over: `try loop.add(connection)`. From then on it
  /// belongs to that loop's thread, where its handler is called, one event a callout; what is called elsewhere traps. The
  /// loop keeps it alive. Its callouts are those of `Loop.withEventBase(in:_:)`: a run nested in one serves no
  /// TLS connection of the same mode.
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
    // Unchecked because of what only the loop's thread touches once the connection is in a loop; before, whoever made it.

    /// *constant*
    public let limits: Limits
    /// What the session is to be made of, until it is.
    @safe @exclusivity(unchecked) private var plan: TLSSession.Plan?
    @safe @exclusivity(unchecked) private var handler: ((TLSConnection, Event) -> Void)?
    @safe @exclusivity(unchecked) private var stay: Stay?
    @safe @exclusivity(unchecked) private var feed: TLSFeed?
    /// Whether the handshake is over.
    @safe @exclusivity(unchecked) private var isOpen = false
    @safe @exclusivity(unchecked) private var isPaused = false
    /// Whether the peer has ended its side.
    @safe @exclusivity(unchecked) private var hasEnded = false
    /// Whether our side ends once everything is sent.
    @safe @exclusivity(unchecked) private var isFinishing = false
    /// Whether nobody is told any more, and the connection ends with its last bytes.
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

    /// The server's side of a connection that was accepted.
    public convenience init(
      accepting socket: Socket, with context: TLSServerContext, limits: Limits = Limits(),
      handler: sending @escaping (TLSConnection, Event) -> Void
    ) {
      self.init(.init(socket: socket, context: context.handle, host: nil), limits, handler)
    }

    /// The client's side of a connection that begins to be made to `address` now.
    ///
    /// - Parameter host: Whose certificate the server must have: a name, which it is told as well (SNI), or an address.
    ///   A name is in ASCII, an internationalized one as `xn--…`; `Loop.add` refuses any other.
    /// - Throws: What fails at once. What fails later is told as `.failed`.
    public convenience init(
      connectingTo address: SocketAddress, as host: String, with context: TLSClientContext, limits: Limits = Limits(),
      handler: sending @escaping (TLSConnection, Event) -> Void
    ) throws(SocketError) {
      let socket = try Socket(family: address.family, .stream)
      _ = try socket.connect(to: address)
      self.init(over: socket, as: host, with: context, limits: limits, handler: handler)
    }

    /// The client's side of a connection that is there already, or being made.
    public convenience init(
      over socket: Socket, as host: String, with context: TLSClientContext, limits: Limits = Limits(),
      handler: sending @escaping (TLSConnection, Event) -> Void
    ) {
      self.init(.init(socket: socket, context: context.handle, host: host), limits, handler)
    }

    private init(_ plan: TLSSession.Plan, _ limits: Limits, _ handler: @escaping (TLSConnection, Event) -> Void) {
      contract(plan.socket.kind == .stream, "TLS needs a stream. Make the socket with Socket(family:, .stream).")
      contract(
        0...limits.highWater ~= limits.lowWater && limits.highWater <= limits.queue,
        "The low water mark is from 0 to the high one, and that at most what may wait. Change Limits.")
      self.plan = plan
      self.limits = limits
      self.handler = handler
    }

    // MARK: - State

    /// Whether the connection is not over.
    public var isValid: Bool {
      checkThread()
      return plan != nil || stay != nil
    }

    /// The socket, nil once the connection is over. So the last one to hold it closes it.
    public var socket: Socket? {
      checkThread()
      return plan?.socket ?? stay?.session.socket
    }

    /// What ALPN has chosen; nil before the handshake is over, or if nothing was.
    public var applicationProtocol: String? {
      checkThread()
      return isOpen ? stay?.session.chosenProtocol : nil
    }

    /// The version of TLS that was agreed on, as `TLSv1.3`. Nil before the handshake is over.
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

    /// Queues bytes to be sent in order, before the handshake is over as well. Copies them.
    ///
    /// - Throws: `.queueFull`, `.sendingFinished`, `.invalid`, `.noMemory`; then none of them was taken.
    public func send(_ bytes: [UInt8]) throws(TLSError) {
      try send(unsafe bytes.span.bytes)
    }

    /// Queues bytes to be sent in order, before the handshake is over as well. Copies them.
    ///
    /// - Throws: `.queueFull`, `.sendingFinished`, `.invalid`, `.noMemory`; then none of them was taken.
    public func send(_ bytes: ArraySlice<UInt8>) throws(TLSError) {
      try send(unsafe bytes.span.bytes)
    }

    /// Queues bytes to be sent in order, before the handshake is over as well. Copies them.
    ///
    /// - Throws: `.queueFull`, `.sendingFinished`, `.invalid`, `.noMemory`; then none of them was taken.
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

    /// How many bytes wait for room.
    public var queuedByteCount: Int {
      checkThread()
      return stay?.session.queuedByteCount ?? 0
    }

    /// Whether more than `highWater` bytes have waited, and not yet as few as `lowWater` since.
    ///
    /// `.writable` tells when it ends.
    public var isCongested: Bool {
      checkThread()
      return isAboveMark
    }

    /// Sends no more after what is queued, and says so. The peer is told of an end, and can still send.
    ///
    /// - Throws: `.invalid`.
    public func finishSending() throws(TLSError) {
      checkThread()
      guard let session = stay?.session, !isClosing else { throw .invalid }
      isFinishing = true
      session.finish()
    }

    // MARK: - Receiving

    /// Whether what comes in is read. What is not waits in the kernel, and holds up the peer.
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

    /// Sends what waits, and says goodbye. It is over when the peer has done the same, or after `limit`.
    ///
    /// The handler is called no more, and what still comes in is dropped. Before the handshake is over, it is over at once.
    public func close(within limit: Duration = .seconds(5)) {
      checkThread()
      if isClosing { return }
      guard let stay, isOpen else { return invalidate() }
      isClosing = true
      let old = (handler, feed)
      handler = nil
      feed = nil
      if isPaused, !hasEnded { resume(stay) }
      stay.session.finish()
      stay.loop.arm(stay.timeout, after: limit)
      endIfClosed()
      old.1?.end(nil)
    }

    /// Ends the connection at once. What waits is dropped, and then the peer is not told of an end. Closes the socket.
    ///
    /// Nothing is called afterwards. In its own callout as well.
    public func invalidate() {
      checkThread()
      end(nil)
    }

    /// - Parameter error: What who reads the sequence is to be told.
    private func end(_ error: TLSError?) {
      // A closure may own anything: it dies last.
      let old = (stay, handler, feed, plan)
      stay = nil
      handler = nil
      feed = nil
      plan = nil
      old.2?.end(error)
      guard let stay = old.0 else { return }
      stay.loop.discard(stay.timeout)
      stay.keeper.invalidate()
    }

    // MARK: - What happens

    fileprivate func begin(on loop: Loop, in mode: Loop.Mode) throws(TLSError) {
      contract(loop.isCurrent, "A connection is put into a loop on the loop's thread. Use loop.perform { … }.")
      contract(stay == nil, "A TLS connection is in one mode of one loop, until it is over. Make another.")
      guard let plan else { throw .invalid }
      if let host = plan.host, !TLSSession.isHost(host) { throw .host(host) }
      let session: TLSSession?
      do {
        session = try unsafe loop.withEventBase(in: mode) { base in
          unsafe TLSSession(plan, lowWater: limits.lowWater, base: base, owner: self)
        }
      } catch {
        throw .noEventBase(error)
      }
      guard let session else { throw .noMemory }
      if isPaused { session.pause() }
      let keeper = Loop.Source(cancel: { [weak self] _, _ in self?.end(nil) }, perform: { _ = self })
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
      end(error)
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
        feed?.end(nil)
        tell(.end)
      case .failed:
        return fail(session.takeFailure(isOpen: isOpen))
      }
      endIfClosed()
    }

    /// Calls out.
    private func receive(_ bytes: [UInt8]) {
      if bytes.isEmpty || isClosing { return }
      guard let feed else { return tell(.received(bytes)) }
      if feed.offer(bytes) { isReceiving = false }
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
      if isClosing, hasEnded, stay?.session.hasFinished == true { end(nil) }
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
      if isClosing { return end(nil) }
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

    // MARK: - The sequence

    /// What arrives, as an async sequence instead of `.received`. Everything else is still told the handler. Once.
    ///
    /// Ask for it right after the connection was added, so that nothing is told the handler before.
    /// Any task may read it, on any thread. The connection is read from no further while `limit` bytes or more wait to be
    /// asked for: a task that stops asking holds up its peer. It ends with the peer's end and when the connection is
    /// invalidated, and throws what the connection fails with. A task that is cancelled is given the end at once.
    public func received(atMost limit: Int = 65_536) -> Received {
      checkThread()
      contract(plan == nil, "What arrives is read in a loop. Add the connection to its loop first.")
      contract(feed == nil, "What arrives is for one sequence. Use the one that was made before.")
      let (loop, mode) = (stay?.loop, stay?.mode ?? .default)
      let feed = TLSFeed(limit: limit) { [weak self, weak loop] in
        loop?.perform(in: mode) { if let self, self.isValid { self.isReceiving = true } }
      }
      if stay != nil, !hasEnded, !isClosing { self.feed = feed } else { feed.end(nil) }
      return Received(feed: feed)
    }
  }

  extension Loop {
    /// Puts a TLS connection into a mode, where it begins its handshake. The loop's thread. Once for each connection.
    ///
    /// The first one of a mode takes five descriptors, the others none. A mode with connections is not empty, nor is it
    /// after them: `Loop.stop()` ends its runs.
    ///
    /// - Parameter mode: By its name; `.common` is none.
    /// - Throws: `.noEventBase`, `.noMemory`, `.invalid`, `.host`.
    public func add(_ connection: TLSConnection, to mode: Mode = .default) throws(TLSError) {
      try connection.begin(on: self, in: mode)
    }
  }
#endif
