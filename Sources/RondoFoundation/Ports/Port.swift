public import Foundation
import Rondo

/// A place that messages are sent to. A delegate handles them in a run loop; any thread may send. See NSPort.
///
/// `Port()` takes messages of this process's threads, as a Mach port would: Foundation on Linux has none that does.
/// Add it to a run loop; the loop keeps it alive. Subclasses that carry messages in another way override what
/// Foundation's would.
open class Port: NSObject, NSCopying, @unchecked Sendable {
  /// Posted by a port that has become invalid.
  public static let didBecomeInvalidNotification = Foundation.Port.didBecomeInvalidNotification

  /// *constant* What came in and waits for its turn.
  let inbox = PortInbox()

  public override init() {
    super.init()
  }

  open func copy(with zone: NSZone? = nil) -> Any {
    self
  }

  /// Takes the port out of every run loop for good. Drops what waits, and tells `didBecomeInvalidNotification`.
  open func invalidate() {
    guard inbox.invalidate() else { return }
    NotificationCenter.default.post(name: Self.didBecomeInvalidNotification, object: self)
  }

  /// Whether the port can still receive.
  open var isValid: Bool {
    inbox.isValid
  }

  /// Has `anObject` handle the messages; it is not kept alive. Without one, messages that have their turn are lost.
  open func setDelegate(_ anObject: (any PortDelegate)?) {
    inbox.delegate = anObject
  }

  open func delegate() -> (any PortDelegate)? {
    inbox.delegate
  }

  /// Has messages handled in a mode of `runLoop`. Call `RunLoop.add(_:forMode:)`, which calls it once for each mode.
  open func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.schedule(in: runLoop.getLoop(), Loop.Mode(mode)) { message in
      message.arrive(at: self)
      self.delegate()?.handle(message)
    }
  }

  /// Undoes `schedule`. Call `RunLoop.remove(_:forMode:)`.
  open func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    inbox.remove(from: runLoop.getLoop(), Loop.Mode(mode))
  }

  /// How many bytes a sender leaves free in front of the components.
  open var reservedSpaceLength: Int { 0 }

  /// How many messages wait at most; a sender waits for room until its limit date. Mach's default is 5.
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

  /// Sends a message. It is handled in one of the port's run loops, after what was sent before. Any thread.
  ///
  /// Waits until `limitDate` while `queueLimit` messages wait; a thread that sends to a full port of its own waits in
  /// vain.
  ///
  /// - Parameters:
  ///   - components: Data and ports. Data is copied.
  ///   - receivePort: Where answers go; the receiver knows it as `sendPort`.
  /// - Returns: Whether it is on its way: false for components of other kinds, an invalid port, or no room in time.
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

/// A port for messages within the process. Foundation on Linux declares it, and lacks it.
///
/// Between processes, by name, use `LocalMessagePort` and `RemoteMessagePort`.
open class MessagePort: Port, @unchecked Sendable {}
