import Rondo

/// What a socket source knows. *its lock*
package struct SocketState {
  /// Nil once the source is invalid.
  var socket: Socket?
  /// *constant* What the source was made for.
  let callbacks: SocketSource.Callbacks
  /// *constant* Among the loop's descriptor sources.
  let order: Int
  /// *constant* Where the source was made: what its items are called.
  let label: Label
  var phase: Phase
  /// Nil once the source is invalid.
  var handler: ((SocketSource, SocketSource.Event) -> Void)?

  var enabled: SocketSource.Callbacks
  /// What waits for room.
  var outbox = ByteQueue()
  var marks = Marks()
  /// Whether more has waited than the high mark, and not yet as little as the low one since.
  var isCongested = false
  /// Whether the peer has ended its side.
  var hasEnded = false
  /// Whether our side ends once everything is sent.
  var finishesSending = false
  /// Whether accepting waits for a while.
  var isPaused = false
  /// How many connections were sent away since the last pause for them.
  var refusals = 0
  /// How long accepting pauses the next time.
  var patience = AcceptPatience()

  /// Where the source was put.
  package var membership = Membership()
  /// The loop owns it and it owns the source: weak, so that the loop's end is the end of the circle.
  weak var item: Loop.DescriptorSource?
  /// What `item` holds the socket by; nil once the source is invalid, or in no loop.
  var keeper: SocketKeeper?
  /// In the modes of `item`: the end of a pause or of the time to connect.
  weak var timer: Loop.Timer?

  var loop: Loop? { membership.loop }

  /// How far a connection is.
  enum Phase {
    /// Of its own memory: most sources are never in it.
    indirect case connecting(ConnectAttempt)
    case ready
  }

  /// How much may wait for room.
  struct Marks {
    var low = 0
    var high = 0
    var limit = 64 << 20
  }

  init(
    socket: Socket, callbacks: SocketSource.Callbacks, order: Int, label: Label, phase: Phase,
    handler: @escaping (SocketSource, SocketSource.Event) -> Void
  ) {
    self.socket = socket
    self.callbacks = callbacks
    self.order = order
    self.label = label
    self.phase = phase
    self.handler = handler
    enabled = callbacks
  }

  /// Where the source was made, if no loop was asked to take it and it was not ended.
  var placeIfNeverAdded: String? { socket != nil && membership.version == 0 ? label.text : nil }

  /// What the loop has to ask the kernel for.
  var interest: Loop.DescriptorSource.Readiness {
    switch phase {
    case .connecting(let attempt):
      return attempt.isBusy ? [] : .write
    case .ready:
      var interest: Loop.DescriptorSource.Readiness = []
      if !enabled.isDisjoint(with: .input), !hasEnded, !isPaused { interest.insert(.read) }
      if enabled.contains(.write) || !outbox.isEmpty { interest.insert(.write) }
      return interest
    }
  }

  /// Brings the loop's item in line.
  func updateInterest() {
    guard let item else { return }
    let wanted = interest
    let present = item.enabled
    let added = wanted.subtracting(present)
    let dropped = present.subtracting(wanted)
    if !added.isEmpty { item.enable(added) }
    if !dropped.isEmpty { item.disable(dropped) }
  }

  /// Takes the timer out, to be invalidated when nothing is held.
  mutating func takeTimer() -> Loop.Timer? {
    defer { timer = nil }
    return timer
  }

  // MARK: - Sending

  mutating func send(_ bytes: RawSpan) throws(SocketError) {
    guard let socket else { throw .invalid }
    guard socket.kind == .stream else {
      if try socket.send(bytes) == 0, !bytes.isEmpty { throw .busy }
      return
    }
    if case .ready = phase, outbox.isEmpty {
      let sent = try socket.send(bytes)
      if sent == bytes.byteCount { return }
      queue(bytes.extracting(sent...))
    } else {
      guard outbox.isEmpty || bytes.byteCount <= marks.limit - outbox.count else { throw .congested }
      queue(bytes)
    }
    if outbox.count > marks.high { isCongested = true }
    if !outbox.isEmpty { updateInterest() }
  }

  private mutating func queue(_ bytes: RawSpan) {
    outbox.append { queued in unsafe bytes.withUnsafeBytes { unsafe queued.append(contentsOf: $0) } }
  }

  /// Sends what waits.
  ///
  /// - Returns: Whether so little is left that it is time for more.
  mutating func flush() throws(SocketError) -> Bool {
    guard let socket, !outbox.isEmpty else { return false }
    while !outbox.isEmpty {
      let sent = try socket.send(outbox.rest)
      if sent == 0 { break }
      outbox.consume(sent)
    }
    outbox.trim()
    if outbox.isEmpty {
      try finishIfSent()
      updateInterest()
    }
    guard isCongested, outbox.count <= marks.low else { return false }
    isCongested = false
    return true
  }

  func finishIfSent() throws(SocketError) {
    guard let socket else { throw .invalid }
    guard case .ready = phase, finishesSending, outbox.isEmpty else { return }
    try socket.finishWriting()
  }
}

/// A connection that is being made.
struct ConnectAttempt {
  let address: SocketAddress
  /// Counted from when the source is put into a loop.
  let timeout: Duration?
  /// Whether a Unix-domain listener had no room, and it has to be tried again.
  var isBusy: Bool
  /// When it has taken too long.
  var deadline: SuspendingClock.Instant?
  var pause = Backoff.connecting

  init(address: SocketAddress, timeout: Duration?, isBusy: Bool) {
    self.address = address
    self.timeout = timeout
    self.isBusy = isBusy
  }
}
