import CLinux
import Foundation
import Rondo
import RondoPorts
import RondoSockets

/// A sender's connection to a socket port. *loop thread*, but for the weak reference: *the receiver's lock*.
final class SocketPortConnection: BoundedConnection, @unchecked Sendable {
  let socket: Socket
  let peer: SocketAddress
  /// What it makes the port hold.
  let share: PortShare
  private let limits: SocketPort.Limits
  weak var source: SocketSource?
  private var decoder = FrameDecoder<SocketPortFrame>(limit: SocketPort.messageLimit)
  /// How many messages were taken.
  private var taken = 0
  /// Whether nothing more will come; what was read is still to be handed over.
  var hasEnded = false

  init(_ socket: Socket, _ peer: SocketAddress, _ account: PortAccount, _ limits: SocketPort.Limits) {
    self.socket = socket
    self.peer = peer
    self.limits = limits
    share = PortShare(of: account)
  }

  func append(_ bytes: [UInt8]) {
    decoder.append(bytes)
    share.move()
    share.hold(decoder.held)
  }

  func next() throws(FrameError) -> SocketPortFrame? {
    defer { share.hold(decoder.held) }
    let frame = try decoder.next()
    if frame != nil { taken += 1 }
    return frame
  }

  /// Whether whole messages that were read wait: no more are read as long as they do.
  var hasBacklog: Bool { decoder.hasNext }

  /// Whether the peer has a message to finish.
  var isUnfinished: Bool { decoder.buffered > 0 && !decoder.hasNext }

  /// Whether nothing has come for so long, and nothing is there.
  func isQuiet(at now: SuspendingClock.Instant) -> Bool {
    let time = limits.idleLimit.map(Duration.init(rounding:))
    return share.isStill(for: time, at: now) && rondo_is_readable(socket.descriptor) == 0 && !hasBacklog
  }

  /// Looks whether a message is under way, and has been for too long. While the inbox is full, none is.
  func look(at now: SuspendingClock.Instant) -> (isUnfinished: Bool, isTooSlow: Bool) {
    let isAwaited = isUnfinished && source?.enabled.contains(.data) == true
    share.look(at: now, input: isAwaited ? taken : nil)
    let idle = limits.idleLimit.map(Duration.init(rounding:))
    let message = limits.messageTimeout.map(Duration.init(rounding:))
    let isTooSlow = share.isTooSlow(idle: idle, message: message, at: now) {
      rondo_is_readable(socket.descriptor) != 0
    }
    return (isAwaited, isAwaited && isTooSlow)
  }

  /// What is held is given back.
  func end() {
    decoder = FrameDecoder<SocketPortFrame>(limit: 0)
    share.hold(0)
  }
}
