import Rondo
public import RondoSockets

/// A message that came in at a local port, and the duty to answer it.
///
/// Whoever lets go of it unanswered has its sender told `.unanswered`, so no sender waits in vain. Any thread.
public final class MessagePortRequest: Sendable {
  /// What the sender chose to say what the message is.
  public let identifier: Int32
  public let bytes: [UInt8]
  /// Who sent it, by the kernel's word.
  public let sender: PeerCredentials
  /// Whether the sender wants an answer.
  public let wantsReply: Bool
  private let serial: UInt32
  private let connection: ServedConnection
  /// Where a request counts until it is answered.
  private let account: PortAccount
  /// Whether an answer is still awaited.
  private let isAwaited: Guarded<Bool>

  /// A message that `connection` has taken, and a request that `account` keeps.
  init(_ frame: Frame, from connection: ServedConnection, _ account: PortAccount) {
    identifier = frame.identifier
    bytes = frame.payload
    sender = connection.peer
    wantsReply = frame.kind == .request
    serial = frame.serial
    self.connection = connection
    self.account = account
    isAwaited = Guarded(frame.kind == .request)
  }

  deinit {
    guard takeDuty() else { return }
    account.letGo(of: bytes.count)
    _ = connection.answer(.failure(.unanswered, serial: serial), isBounded: false)
  }

  /// Answers the message, now or later. With bytes, or with nil for an answer without any. Any thread.
  ///
  /// It returns at once; a sender that does not read is waited for by the loop.
  ///
  /// - Throws: `.notAwaited` the second time or for a message that wants none; `.peerGone`. `.messageTooLong`, and
  ///   `.tooManyReplies` if more than `maximumQueuedReplies` bytes wait: it can still be answered then.
  public func reply(_ bytes: [UInt8]? = nil) throws(MessagePortError) {
    let limit = connection.options.maximumMessageLength
    if let bytes, bytes.count > limit { throw .messageTooLong(count: bytes.count, limit: limit) }
    guard takeDuty() else { throw .notAwaited }
    let frame = bytes.map { Frame(.reply, serial: serial, identifier: identifier, $0) }
    switch connection.answer(frame ?? Frame(.emptyReply, serial: serial, identifier: identifier), isBounded: true) {
    case .accepted: account.letGo(of: self.bytes.count)
    case .gone:
      account.letGo(of: self.bytes.count)
      throw .peerGone
    case .refused(let waiting):
      isAwaited.withLock { $0 = true }
      throw .tooManyReplies(waiting: waiting, limit: connection.options.maximumQueuedReplies)
    }
  }

  private func takeDuty() -> Bool {
    isAwaited.withLock { isAwaited in
      defer { isAwaited = false }
      return isAwaited
    }
  }
}
