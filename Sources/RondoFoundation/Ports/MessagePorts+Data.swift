public import Foundation
import Rondo
public import RondoPorts

/// Named message ports in Foundation's terms.
extension RunLoop {
  /// Receives a port's messages in a mode. Any thread. See CFMessagePortCreateRunLoopSource.
  @discardableResult
  public func add(_ port: LocalMessagePort, forMode mode: Mode) -> Bool {
    getLoop().add(port, to: Loop.Mode(mode))
  }

  /// No longer receives a port's messages in a mode: they wait. Any thread.
  public func remove(_ port: LocalMessagePort, forMode mode: Mode) {
    getLoop().remove(port, from: Loop.Mode(mode))
  }

  /// Notices in a mode when a port's peer goes. Any thread.
  @discardableResult
  public func add(_ port: RemoteMessagePort, forMode mode: Mode) -> Bool {
    getLoop().add(port, to: Loop.Mode(mode))
  }

  /// Undoes `add`. Any thread.
  public func remove(_ port: RemoteMessagePort, forMode mode: Mode) {
    getLoop().remove(port, from: Loop.Mode(mode))
  }
}

extension MessagePortRequest {
  /// What was sent.
  public var data: Data { Data(bytes) }

  /// Answers, now or later, from any thread. See `reply(_:)` for the errors.
  public func reply(_ data: Data) throws(MessagePortError) {
    try reply(Array(data))
  }
}

extension RemoteMessagePort {
  /// Sends data that wants no reply. See `send(_:identifier:timeout:)` for the errors.
  @available(*, noasync, message: "It blocks the thread. Call it from a synchronous function.")
  public func send(_ data: Data, identifier: Int32 = 0, timeout: Duration) throws(MessagePortError) {
    try send(Array(data), identifier: identifier, timeout: timeout)
  }

  /// Sends data and waits for the reply. With a mode, the thread's run loop runs in it. See CFMessagePortSendRequest.
  ///
  /// - Throws: What `request(_:identifier:sendTimeout:replyTimeout:running:)` throws.
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
