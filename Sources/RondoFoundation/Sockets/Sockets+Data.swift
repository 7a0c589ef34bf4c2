public import Foundation
import Rondo
public import RondoSockets

/// Socket sources in Foundation's terms.
extension RunLoop {
  /// Adds a socket source to a mode. Any thread. See CFSocketCreateRunLoopSource.
  ///
  /// - Returns: Whether it is a member afterwards.
  @discardableResult
  public func add(_ source: SocketSource, forMode mode: Mode) -> Bool {
    getLoop().add(source, to: Loop.Mode(mode))
  }

  /// Removes a socket source from a mode. Any thread.
  public func remove(_ source: SocketSource, forMode mode: Mode) {
    getLoop().remove(source, from: Loop.Mode(mode))
  }
}

extension SocketSource {
  /// Sends data in order, and keeps the bytes that the socket does not take.
  ///
  /// It throws the errors of `send(_:)` of an array.
  public func send(_ data: Data) throws(SocketError) {
    try send(Array(data))
  }
}

extension SocketAddress {
  /// The bytes of the sockaddr, as in CFSocket's functions.
  public var data: Data { Data(socketBytes) }

  /// Makes an address from the bytes of a sockaddr.
  public init(data: Data) throws(AddressError) {
    try self.init(socketBytes: Array(data))
  }
}
