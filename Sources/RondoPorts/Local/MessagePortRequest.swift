import Rondo
public import RondoSockets

/// A message that a local port received and that you may reply to. Any thread.
///
/// If you release a request without a reply, its sender gets `.unanswered`.
public final class MessagePortRequest: Sendable {
  /// The sender's number for the kind of message.
  public let identifier: Int32
  /// The message's bytes.
  public let bytes: [UInt8]
  /// The sender's credentials, as the kernel states them.
  public let sender: PeerCredentials
  /// Whether the sender wants a reply.
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

  /// Replies to the message, now or later; nil is a reply without bytes. Any thread.
  ///
  /// It returns immediately. If the sender does not read, the loop sends the rest later.
  ///
  /// - Throws: `.notAwaited` for a second reply or a message that wants none; `.peerGone`; `.messageTooLong`;
  ///   `.tooManyReplies` if more than `replyLimit` bytes wait. After the last two you can still reply.
  public func reply(_ bytes: [UInt8]? = nil) throws(MessagePortError) {
    let limit = connection.options.messageLimit
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
      throw .tooManyReplies(waiting: waiting, limit: connection.options.replyLimit)
    }
  }

  private func takeDuty() -> Bool {
    isAwaited.withLock { isAwaited in
      defer { isAwaited = false }
      return isAwaited
    }
  }
}
