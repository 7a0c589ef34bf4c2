public import Foundation
import Glibc
import Rondo
import RondoPorts
import RondoSockets

/// A port that is reached by a socket, from this machine or another. See NSSocketPort.
///
/// A local one listens; a remote one stands for it elsewhere. Its messages have Foundation's form, so a process that
/// uses Foundation's own SocketPort can be at the other end. One run loop at a time, several modes, `.common` included.
/// Anybody who can reach the address can send: on a network, it needs a firewall or a loopback address.
open class SocketPort: Port, @unchecked Sendable {
  /// *constant*
  let signature: SocketPortSignature
  /// *constant* Nil for a remote port.
  private let receiver: SocketPortReceiver?
  /// *constant* Shared by all ports with the signature.
  private let sender: SocketPortSender

  /// The longest message sent and accepted, header and all. A connection that states a longer one is closed.
  /// 16 MiB, as of a message port: chosen.
  public static let maximumMessageLength = 16 << 20

  /// What senders can make a local port hold.
  public struct Limits: Sendable, Hashable {
    /// How many connections there are at once. One more is closed, unless another one has been quiet for so long that
    /// it has to make room. By default a quarter of the descriptors this process may open, and 1,024 at most.
    public var maximumConnections = MessagePortOptions.defaultMaximumConnections
    /// How much memory half messages may take, and as much messages that wait. In bytes, and one message more if need
    /// be. Beyond it, the connection that has stood still longest is closed, and no more messages are read.
    public var maximumHeldBytes = 64 << 20
    /// How long a sender may leave a message unfinished without a byte that comes. Nil is for ever. It is closed, never
    /// before this time and at most as long again after it.
    public var maximumIdleTime: TimeInterval? = 30
    /// How long a sender may take for one message though bytes come. Nil is for ever. It is closed, never before this
    /// time and at most four times as long after the beginning.
    public var maximumMessageTime: TimeInterval? = 600

    public init() {}

    /// How often the port looks at what is unfinished; nil for never.
    var timeBetweenLooks: TimeInterval? { [maximumIdleTime, maximumMessageTime].compactMap { $0 }.min() }
  }

  /// What senders can make this port hold; without effect on a remote port. Set it before adding it to a run loop.
  public final var limits: Limits {
    get { receiver?.limits ?? Limits() }
    set {
      contract(
        newValue.maximumConnections > 0 && newValue.maximumHeldBytes > 0 && newValue.maximumIdleTime ?? 1 > 0
          && newValue.maximumMessageTime ?? 1 > 0,
        "A socket port's limits are positive. Use invalidate() for a port that takes nothing.")
      receiver?.limits = newValue
    }
  }

  /// How much memory, in bytes, senders make the port hold. Half messages, and messages that wait for their turn.
  public final var heldByteCount: Int {
    (receiver?.heldByteCount ?? 0) + inbox.waitingCost
  }

  /// How many senders are connected.
  public final var connectionCount: Int { receiver?.connectionCount ?? 0 }

  /// A TCP port that the kernel chooses, on every interface. Ends the process, and says why, if there can be none.
  public convenience override init() {
    let address = SocketAddress.ipv4(.any, port: 0)
    do {
      let socket = try Socket.listening(at: address)
      self.init(AF_INET, CInt(SOCK_STREAM.rawValue), CInt(IPPROTO_TCP), socket, at: socket.localAddress ?? address)
    } catch {
      fatalError("SocketPort() could not be made: \(error). \(descriptorAdvice) Use init(tcpPort:), which may fail.")
    }
  }

  private init(_ family: Int32, _ type: Int32, _ transport: Int32, _ socket: Socket, at address: SocketAddress) {
    receiver = SocketPortReceiver(socket)
    signature = SocketPortSignature(family, type, transport, address)
    sender = .shared(for: signature)
    super.init()
  }

  /// A TCP port on every interface; 0 lets the kernel choose. Nil if it is taken.
  public convenience init?(tcpPort port: UInt16) {
    let address = SocketAddress.ipv4(.any, port: port)
    self.init(
      protocolFamily: AF_INET, socketType: CInt(SOCK_STREAM.rawValue), protocol: CInt(IPPROTO_TCP),
      address: Data(address.socketBytes))
  }

  /// A local port at `address`, a sockaddr's bytes. Nil if there can be none.
  public init?(protocolFamily family: Int32, socketType type: Int32, protocol: Int32, address: Data) {
    guard let address = try? SocketAddress(socketBytes: Array(address)), address.family == family,
      let socket = try? Self.makeSocket(type, address)
    else { return nil }
    receiver = SocketPortReceiver(socket)
    signature = SocketPortSignature(family, type, `protocol`, socket.localAddress ?? address)
    sender = .shared(for: signature)
    super.init()
  }

  /// A local port on an open socket, which listens or takes datagrams. The port closes it. Nil if it is no socket.
  public init?(protocolFamily family: Int32, socketType type: Int32, protocol: Int32, socket sock: SocketNativeHandle) {
    guard let socket = try? Socket(owning: sock), let address = socket.localAddress else { return nil }
    receiver = SocketPortReceiver(socket)
    signature = SocketPortSignature(family, type, `protocol`, address)
    sender = .shared(for: signature)
    super.init()
  }

  /// A remote port that stands for a TCP port of a host. The host is an address, or a name that is looked up now; nil
  /// is this machine.
  ///
  /// IPv4 comes first. Nil if there is no such host. It may block the thread.
  public convenience init?(remoteWithTCPPort port: UInt16, host hostName: String?) {
    guard let address = Self.address(of: hostName, port) else { return nil }
    self.init(
      remoteWithProtocolFamily: address.family, socketType: CInt(SOCK_STREAM.rawValue), protocol: CInt(IPPROTO_TCP),
      address: Data(address.socketBytes))
  }

  /// What stands for the port at `address`, a sockaddr's bytes.
  public init(remoteWithProtocolFamily family: Int32, socketType type: Int32, protocol: Int32, address: Data) {
    receiver = nil
    signature = SocketPortSignature(family, type, `protocol`, raw: Array(address))
    sender = .shared(for: signature)
    super.init()
  }

  init(remote signature: SocketPortSignature) {
    receiver = nil
    self.signature = signature
    sender = .shared(for: signature)
    super.init()
  }

  private static func makeSocket(_ type: Int32, _ address: SocketAddress) throws(SocketError) -> Socket {
    switch type {
    case CInt(SOCK_STREAM.rawValue): try .listening(at: address)
    case CInt(SOCK_DGRAM.rawValue): try .datagram(at: address)
    default: throw .system(.socket, errno: ESOCKTNOSUPPORT)
    }
  }

  private static func address(of host: String?, _ port: UInt16) -> SocketAddress? {
    guard let host, !host.isEmpty else { return .loopback(port: port) }
    let names = [host] + Host(name: host).addresses
    if let address = names.lazy.compactMap({ IPv4Address($0) }).first { return .ipv4(address, port: port) }
    return names.lazy.compactMap { IPv6Address($0) }.first.map { .ipv6($0, port: port) }
  }

  deinit {
    receiver?.invalidate()
  }

  /// Closes a local port and its connections. `didBecomeInvalidNotification` is told of local ports alone.
  open override func invalidate() {
    guard let receiver else {
      _ = inbox.invalidate()
      return
    }
    receiver.invalidate()
    super.invalidate()
  }

  // MARK: - What it is

  open var protocolFamily: Int32 { signature.family }

  open var socketType: Int32 { signature.type }

  open var `protocol`: Int32 { signature.transport }

  /// The bytes of the port's sockaddr.
  open var address: Data { Data(signature.address) }

  /// The socket of a local port. It is -1 of a remote one, which has none of its own.
  open var socket: SocketNativeHandle { receiver?.socket?.descriptor ?? -1 }

  /// Remote ports of the same signature are equal. On Apple's systems they are the same.
  open override var hash: Int {
    receiver == nil ? signature.hashValue : ObjectIdentifier(self).hashValue
  }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? SocketPort else { return false }
    if receiver == nil && other.receiver == nil { return signature == other.signature }
    return self === other
  }

  // MARK: - Receiving

  open override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    super.schedule(in: runLoop, forMode: mode)
    receiver?.schedule(self, in: runLoop.getLoop(), Loop.Mode(mode))
  }

  open override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    super.remove(from: runLoop, forMode: mode)
    receiver?.remove(from: runLoop.getLoop(), Loop.Mode(mode))
  }

  // MARK: - Sending

  /// Sends a message to where the port is. The connection is kept for later ones. Any thread; may block it.
  ///
  /// - Parameters:
  ///   - components: Data and socket ports.
  ///   - receivePort: Where answers go, if it is a local socket port.
  /// - Returns: Whether the kernel has all of it: false for components of other kinds, if nobody listens, or if there
  ///   was no room until `limitDate`.
  @discardableResult
  open override func send(
    before limitDate: Date, msgid msgID: Int, components: NSMutableArray?, from receivePort: Port?,
    reserved headerSpaceReserved: Int
  ) -> Bool {
    guard isValid, let target = signature.wire else { return false }
    var frame = SocketPortFrame(identifier: UInt32(truncatingIfNeeded: msgID), sender: target, components: [])
    if let answers = (receivePort as? SocketPort)?.signature.wire { frame.sender = answers }
    for component in components ?? [] {
      switch component {
      case let data as Data: frame.components.append(.data(Array(data)))
      case let data as NSData: frame.components.append(.data(Array(Data(referencing: data))))
      case let port as SocketPort:
        guard let wire = port.signature.wire else { return false }
        frame.components.append(.port(wire))
      default: return false
      }
    }
    guard let bytes = frame.encoded, bytes.count <= Self.maximumMessageLength else { return false }
    return sender.send(bytes, before: limitDate)
  }
}
