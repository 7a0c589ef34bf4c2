public import Foundation
import Rondo
public import RondoSockets

/// Socket sources in Foundation's terms.
extension RunLoop {
  /// Puts a socket source into a mode. Any thread. See CFSocketCreateRunLoopSource.
  @discardableResult
  public func add(_ source: SocketSource, forMode mode: Mode) -> Bool {
    getLoop().add(source, to: Loop.Mode(mode))
  }

  /// Takes a socket source out of a mode. Any thread.
  public func remove(_ source: SocketSource, forMode mode: Mode) {
    getLoop().remove(source, from: Loop.Mode(mode))
  }
}

extension SocketSource {
  /// Sends data in order; what the socket does not take at once is kept. See `send(_:)` for the errors.
  public func send(_ data: Data) throws(SocketError) {
    try send(Array(data))
  }
}

extension SocketAddress {
  /// The bytes of the matching sockaddr, as CFSocket's functions take and give them.
  public var data: Data { Data(socketBytes) }

  /// Reads a sockaddr.
  public init(data: Data) throws(AddressError) {
    try self.init(socketBytes: Array(data))
  }
}
