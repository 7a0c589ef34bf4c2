import CLinux
import Rondo
import RondoPorts
import RondoSockets

/// A sender's connection to a socket port. *loop thread*, but for the weak reference: *the receiver's lock*.
final class SocketPortConnection: @unchecked Sendable {
  let socket: Socket
  let peer: SocketAddress
  /// What it makes the port hold.
  let share: PortShare
  weak var source: SocketSource?
  private var decoder = SocketPortFrameDecoder(limit: SocketPort.maximumMessageLength)
  /// Whether nothing more will come; what was read is still to be handed over.
  var hasEnded = false

  init(_ socket: Socket, _ peer: SocketAddress, _ account: PortAccount) {
    self.socket = socket
    self.peer = peer
    share = PortShare(of: account)
  }

  func append(_ bytes: [UInt8]) {
    decoder.append(bytes)
    share.move()
    share.hold(decoder.held)
  }

  func next() throws(FrameError) -> SocketPortFrame? {
    defer { share.hold(decoder.held) }
    return try decoder.next()
  }

  /// Whether whole messages that were read wait: no more are read meanwhile.
  var hasBacklog: Bool { decoder.hasNext }

  /// Whether the peer has a message to finish.
  var isUnfinished: Bool { decoder.buffered > 0 && !decoder.hasNext }

  /// Whether nothing came for an interval between two looks, nor has since.
  var isStalled: Bool { share.isStill && rondo_is_readable(socket.descriptor) == 0 }

  /// What is held is given back.
  func end() {
    decoder = SocketPortFrameDecoder(limit: 0)
    share.hold(0)
  }
}
