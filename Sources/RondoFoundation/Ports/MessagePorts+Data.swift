public import Foundation
import Rondo
public import RondoPorts

/// Named message ports in Foundation's terms.
extension RunLoop {
  /// Adds a port to a mode, which receives its messages. Any thread.
  ///
  /// See CFMessagePortCreateRunLoopSource.
  ///
  /// - Returns: False if the port is invalid or in another loop, or if the loop has ended.
  @discardableResult
  public func add(_ port: LocalMessagePort, forMode mode: Mode) -> Bool {
    getLoop().add(port, to: Loop.Mode(mode))
  }

  /// Removes a port from a mode. Its messages wait. Any thread.
  public func remove(_ port: LocalMessagePort, forMode mode: Mode) {
    getLoop().remove(port, from: Loop.Mode(mode))
  }

  /// Adds a port to a mode, which notices the end of the peer. Any thread.
  ///
  /// - Returns: False if the port is invalid or in another loop, or if the loop has ended.
  @discardableResult
  public func add(_ port: RemoteMessagePort, forMode mode: Mode) -> Bool {
    getLoop().add(port, to: Loop.Mode(mode))
  }

  /// Removes a port from a mode. Any thread.
  public func remove(_ port: RemoteMessagePort, forMode mode: Mode) {
    getLoop().remove(port, from: Loop.Mode(mode))
  }
}

extension MessagePortRequest {
  /// The bytes of the request.
  public var data: Data { Data(bytes) }

  /// Sends the reply, once. Any thread. Throws the errors of `reply(_:)` of an array.
  public func reply(_ data: Data) throws(MessagePortError) {
    try reply(Array(data))
  }
}

extension RemoteMessagePort {
  /// Sends data without a reply. Blocks the thread for at most `timeout`.
  ///
  /// It throws the errors of `send(_:identifier:timeout:)` of an array.
  @available(*, noasync, message: "It blocks the thread. Call it from a synchronous function.")
  public func send(_ data: Data, identifier: Int32 = 0, timeout: Duration) throws(MessagePortError) {
    try send(Array(data), identifier: identifier, timeout: timeout)
  }

  /// Sends data and waits for the reply. See CFMessagePortSendRequest.
  ///
  /// Without a mode, it blocks the thread. With a mode, it runs the thread's run loop in that mode.
  ///
  /// - Throws: The errors of `request(_:identifier:sendTimeout:replyTimeout:running:)`.
  @available(*, noasync, message: "It blocks the thread. Call it from a synchronous function.")
  public func request(
    _ data: Data, identifier: Int32 = 0, sendTimeout: Duration, replyTimeout: Duration,
    runningMode mode: RunLoop.Mode? = nil
  ) throws(MessagePortError) -> Data? {
    // The run loop serves Foundation's in the mode, too.
    if mode != nil { _ = RunLoop.current }
    return try request(
      Array(data), identifier: identifier, sendTimeout: sendTimeout, replyTimeout: replyTimeout,
      running: mode.map { Loop.Mode($0) }
    ).map { Data($0) }
  }
}
