public import Foundation

/// A message between ports: components, and the ports it goes and comes by. See NSPortMessage.
open class PortMessage: NSObject, NSCopying, @unchecked Sendable {
  /// What the sender chose to say what the message is.
  open var msgid: UInt32 = 0
  /// Data (NSData) and ports, in the order they were sent.
  open private(set) var components: [AnyObject]?
  /// The port it came to. Of a message to send, where answers go.
  open private(set) var receivePort: Port?
  /// The port to send to. Of a message that came in, the port to answer to, if any.
  open private(set) var sendPort: Port?

  /// *constant once it waits* What it costs a port to keep it, in bytes; 0 for a message of this process.
  var cost = 0

  public init(sendPort: Port?, receivePort replyPort: Port?, components: [AnyObject]?) {
    self.sendPort = sendPort
    receivePort = replyPort
    self.components = components
  }

  /// Sends the components to `sendPort`, and waits for room until `date`.
  ///
  /// - Returns: Whether the message is on its way.
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

/// Handles the messages that come to a port. See NSPortDelegate.
public protocol PortDelegate: AnyObject {
  /// Called on the thread of the port's run loop, in one of the port's modes, once for each message, in order.
  func handle(_ message: PortMessage)
}
