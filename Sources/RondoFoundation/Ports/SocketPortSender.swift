import Foundation
import Rondo
import RondoSockets

/// The way to a socket port, shared by everybody in the process who sends to it.
final class SocketPortSender: @unchecked Sendable {
  private let signature: SocketPortSignature
  /// Held while a thread sends, so that messages do not mix.
  private let lock = NSLock()
  /// *lock* The connection, or the socket that datagrams leave by.
  private var socket: Socket?

  private init(_ signature: SocketPortSignature) {
    self.signature = signature
  }

  private struct Weak {
    weak var sender: SocketPortSender?
  }

  private struct Senders {
    var all: [SocketPortSignature: Weak] = [:]
    /// How many there may be before those that have gone are taken out: a peer's messages can name many.
    var sweepCount = 64
  }

  private static let senders = PerProcess(Senders())

  /// The one for a signature. Amortised O(1).
  static func shared(for signature: SocketPortSignature) -> SocketPortSender {
    senders.withLock { senders in
      if let sender = senders.all[signature]?.sender { return sender }
      if senders.all.count >= senders.sweepCount {
        senders.all = senders.all.filter { $0.value.sender != nil }
        senders.sweepCount = max(64, 2 * senders.all.count)
      }
      let sender = SocketPortSender(signature)
      senders.all[signature] = Weak(sender: sender)
      return sender
    }
  }

  /// Sends a frame, whole or, to a stream that cannot take it in time, not at all: its connection is closed then.
  func send(_ frame: [UInt8], before limitDate: Date) -> Bool {
    guard let destination = signature.destination, lock.lock(before: limitDate.limited) || lock.try() else {
      return false
    }
    Lock.count(1)
    defer {
      Lock.count(-1)
      lock.unlock()
    }
    guard signature.isStream else { return sendDatagram(frame, to: destination) }
    let isReused = socket.map(isAlive) ?? false
    if !isReused { socket = nil }
    // A peer that closed just now costs the first try.
    for _ in 0..<(isReused ? 2 : 1) {
      do {
        let connection = try socket ?? connect(to: destination, limitDate)
        socket = connection
        try connection.send(frame, timeout: limitDate.durationFromNow)
        return true
      } catch SocketError.reset {
        socket = nil
      } catch {
        socket = nil
        return false
      }
    }
    return false
  }

  private func connect(to destination: SocketAddress, _ limitDate: Date) throws(SocketError) -> Socket {
    let socket = try Socket(family: destination.family, .stream)
    try socket.connect(to: destination, timeout: limitDate.durationFromNow)
    return socket
  }

  /// What is read at most of a peer, which has nothing to send: one that goes on must not hold the sending thread.
  private static let mostPieces = 64

  /// Whether the peer has not closed the connection. It sends nothing on it that would be missed.
  private func isAlive(_ socket: Socket) -> Bool {
    for _ in 0..<Self.mostPieces {
      switch try? socket.receive() {
      case .nothing: return true
      case .bytes, .datagram: continue
      case .end, nil: return false
      }
    }
    return false
  }

  private func sendDatagram(_ frame: [UInt8], to destination: SocketAddress) -> Bool {
    guard let socket = socket ?? (try? Socket(family: destination.family, .datagram)) else { return false }
    self.socket = socket
    return (try? socket.send(frame[...], to: destination)) == frame.count
  }
}
