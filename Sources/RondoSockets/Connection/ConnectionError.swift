public import Rondo

// Indirect: each call reserves room for the error in its task's frame, which one word keeps small. A connection that waits
// takes a kilobyte less for it.

/// Why an async call on a connection, a listener or a socket failed.
public indirect enum ConnectionError: Error, Hashable, Sendable {
  /// A system call failed. A time limit of the kernel's that has passed is `.wait(.timedOut)`, as one of yours.
  case socket(SocketError)
  /// The wait failed: it was cancelled, its time passed, or the loop ended.
  case wait(Loop.WaitError)
  /// The host's name was not looked up.
  case lookup(LookupError)
  /// The peer ended the stream before `expected` bytes had come. The `received` bytes can still be read.
  case endedEarly(received: Int, expected: Int)
  /// No delimiter is among the first `limit` bytes, which can still be read.
  case tooLong(limit: Int)
  /// An earlier write sent a part of its bytes, and failed. The peer would misread more bytes.
  case writeCutShort
  /// The connection was closed on this side, or a secured one of `RondoTLS` replaces it.
  case closed
  /// TLS failed; for connections that `RondoTLS` has secured.
  case tls(TLSError)
}

extension ConnectionError: CustomStringConvertible {
  /// A sentence with the cause.
  public var description: String {
    switch self {
    case .socket(let error): "\(error)"
    case .wait(let error): "the wait for the socket ended: \(error)"
    case .lookup(let error): "\(error)"
    case .endedEarly(let received, let expected): "the peer ended after \(received) of \(expected) bytes"
    case .tooLong(let limit): "there is no end of the line in \(limit) bytes"
    case .writeCutShort: "an earlier write sent only a part of its bytes"
    case .closed: "the connection was closed on this side"
    case .tls(let error): "TLS failed: \(error)"
    }
  }
}

extension ConnectionError: CancellationReporting {
  package var reportsCancellation: Bool { self == .wait(.cancelled) || self == .lookup(.cancelled) }

  /// The error of a system call.
  init(_ error: SocketError) { self = error == .timedOut ? .wait(.timedOut) : .socket(error) }
}

/// What a system call gave, or why it gave nothing, as async code is told.
func asking<Answer>(_ call: () throws(SocketError) -> Answer) throws(ConnectionError) -> Answer {
  do {
    return try call()
  } catch {
    throw ConnectionError(error)
  }
}
