public import Foundation
import Rondo

/// Receives messages, which its delegate handles in a run loop. See NSPort.
///
/// Any thread may send. `Port()` takes messages of this process's threads, as a Mach port does; Foundation on Linux has
/// no such port. Add it to a run loop, which keeps it alive. A subclass for another transport overrides the same
/// members as a subclass of Foundation's class.
open class Port: NSObject, NSCopying, @unchecked Sendable {
  /// The notification that a port posts when it becomes invalid.
  public static let didBecomeInvalidNotification = Foundation.Port.didBecomeInvalidNotification

  /// *constant* What came in and waits for its turn.
  let inbox = PortInbox()

  public override init() {
    super.init()
  }

  open func copy(with zone: NSZone? = nil) -> Any {
    self
  }

  /// Removes the port from every run loop permanently, and drops its waiting messages.
  ///
  /// The first call posts `didBecomeInvalidNotification`.
  open func invalidate() {
    guard inbox.invalidate() else { return }
    NotificationCenter.default.post(name: Self.didBecomeInvalidNotification, object: self)
  }

  /// Whether the port can still receive.
  open var isValid: Bool {
    inbox.isValid
  }

  /// Sets the delegate that handles the messages. The reference is weak.
  ///
  /// Without a delegate, the port drops each message at its turn.
  open func setDelegate(_ anObject: (any PortDelegate)?) {
    inbox.delegate = anObject
  }

  open func delegate() -> (any PortDelegate)? {
    inbox.delegate
  }

  /// Adds the port to a mode. `RunLoop.add(_:forMode:)` calls it once for each mode.
  ///
  /// You may override it. Callers use `RunLoop.add(_:forMode:)`.
  open func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.schedule(in: runLoop.getLoop(), Loop.Mode(mode)) { message in
      message.arrive(at: self)
      self.delegate()?.handle(message)
    }
  }

  /// Removes the port from a mode. Called by `RunLoop.remove(_:forMode:)`.
  open func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.remove(from: runLoop.getLoop(), Loop.Mode(mode))
  }

  /// The number of bytes that a sender leaves free before the components.
  open var reservedSpaceLength: Int { 0 }

  /// The most messages that may wait. At first 1,024; Mach's default is 5.
  ///
  /// If so many wait, a sender blocks until its limit date.
  public final var queueLimit: Int {
    get { inbox.limit }
    set { inbox.limit = newValue }
  }

  /// Sends a message without an identifier.
  @discardableResult
  open func send(
    before limitDate: Date, components: NSMutableArray?, from receivePort: Port?, reserved headerSpaceReserved: Int
  ) -> Bool {
    send(before: limitDate, msgid: 0, components: components, from: receivePort, reserved: headerSpaceReserved)
  }

  /// Sends a message, which one of the port's run loops handles in order. Any thread.
  ///
  /// While `queueLimit` messages wait, the call blocks until `limitDate`. If the calling thread is the port's only
  /// receiver, that wait cannot succeed.
  ///
  /// - Parameters:
  ///   - components: Data and ports. Data is copied.
  ///   - receivePort: The port for replies. The receiver gets it as `sendPort`.
  /// - Returns: False for components of other kinds, an invalid port, or no room until `limitDate`.
  @discardableResult
  open func send(
    before limitDate: Date, msgid msgID: Int, components: NSMutableArray?, from receivePort: Port?,
    reserved headerSpaceReserved: Int
  ) -> Bool {
    var copies: [AnyObject] = []
    for component in components ?? [] {
      switch component {
      case let data as Data: copies.append(NSData(data: data))
      case let data as NSData: copies.append(NSData(data: Data(referencing: data)))
      case let port as Port: copies.append(port)
      default: return false
      }
    }
    let message = PortMessage(sendPort: receivePort, receivePort: nil, components: copies)
    message.msgid = UInt32(truncatingIfNeeded: msgID)
    return inbox.put(message, before: limitDate)
  }
}

/// A port for messages within the process. Foundation's own does not work on Linux.
///
/// For named ports between processes, use `LocalMessagePort` and `RemoteMessagePort`.
open class MessagePort: Port, @unchecked Sendable {}
