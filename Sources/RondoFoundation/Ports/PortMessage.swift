public import Foundation

/// A message between ports: its components, its receiver and its sender. See NSPortMessage.
open class PortMessage: NSObject, NSCopying, @unchecked Sendable {
  /// The identifier that the sender chose.
  open var msgid: UInt32 = 0
  /// Data (NSData) and ports, in the order in which they were sent.
  open private(set) var components: [AnyObject]?
  /// The port that received the message. If you send it, the port for replies.
  open private(set) var receivePort: Port?
  /// The destination. In a received message, the port for replies, if any.
  open private(set) var sendPort: Port?

  /// *constant once it waits* What it costs a port to keep it, in bytes; 0 for a message of this process.
  var cost = 0

  public init(sendPort: Port?, receivePort replyPort: Port?, components: [AnyObject]?) {
    self.sendPort = sendPort
    receivePort = replyPort
    self.components = components
  }

  /// Sends the components to `sendPort`; blocks until `date` while it has no room.
  ///
  /// - Returns: Whether the message was sent.
  @discardableResult
  open func send(before date: Date) -> Bool {
    let components = NSMutableArray(array: components ?? [])
    return sendPort?.send(before: date, msgid: Int(msgid), components: components, from: receivePort, reserved: 0)
      ?? false
  }

  /// Said when it is handled: a message that waits for its port must not keep it alive.
  func arrive(at port: Port) {
    receivePort = port
  }

  open func copy(with zone: NSZone? = nil) -> Any {
    self
  }
}

/// Handles the messages of a port. See NSPortDelegate.
public protocol PortDelegate: AnyObject {
  /// Handles one message. Messages arrive in order.
  ///
  /// The port calls it on the thread of its run loop, in one of its modes.
  func handle(_ message: PortMessage)
}
