public import Foundation
import Glibc
import Rondo
import RondoPorts
import RondoSockets

/// A port on a socket, for messages of this machine or of others. See NSSocketPort.
///
/// A local port receives. A remote port sends to a local port elsewhere. The messages have Foundation's form, so the
/// peer may use Foundation's own SocketPort. A port is in one run loop at a time, in several modes, `.common` included.
/// Every process that can reach the address can send: on a network, use a firewall or a loopback address.
open class SocketPort: Port, @unchecked Sendable {
  /// *constant*
  let signature: SocketPortSignature
  /// *constant* Nil for a remote port.
  private let receiver: SocketPortReceiver?
  /// *constant* Shared by all ports with the signature.
  private let sender: SocketPortSender

  /// The longest message in bytes, with its header: 16 MiB.
  ///
  /// The port closes a connection that announces a longer message.
  public static let messageLimit = 16 << 20

  /// The limits of what senders can make a local port hold.
  public struct Limits: Sendable, Hashable {
    /// The most connections at a time.
    ///
    /// Of one more, the port closes a connection that was quiet for `idleLimit`, or else the new one. The default
    /// is a quarter of the descriptors that the process may open, and at most 1,024.
    public var connectionLimit = MessagePortOptions.usualConnectionLimit
    /// The most bytes of memory for unfinished messages, and again for waiting messages.
    ///
    /// If unfinished messages exceed it, the port closes the connection that has been still longest. If waiting
    /// messages reach it, the port reads no more, so they exceed it by one message at most. For unfinished messages it
    /// counts as at least twice `messageLimit`.
    public var memoryLimit = 64 << 20
    /// The seconds without a byte that end an unfinished message; nil for no limit.
    ///
    /// The port then closes the connection, never before this time and at most as long again after it.
    public var idleLimit: TimeInterval? = 30
    /// The seconds that one message may take although bytes arrive; nil for no limit.
    ///
    /// The port then closes the connection, never before this time and at most four times as long after the beginning.
    public var messageTimeout: TimeInterval? = 600

    public init() {}

    /// How often the port looks at what is unfinished; nil for never.
    var timeBetweenLooks: Duration? {
      [idleLimit, messageTimeout].compactMap { $0 }.min().map(Duration.init(rounding:))
    }
  }

  /// The port's limits. Set them before you add the port to a run loop.
  ///
  /// On a remote port they have no effect.
  public final var limits: Limits {
    get { receiver?.limits ?? Limits() }
    set {
      require(
        newValue.connectionLimit > 0 && newValue.memoryLimit > 0 && newValue.idleLimit ?? 1 > 0
          && newValue.messageTimeout ?? 1 > 0,
        "A socket port's limits are positive. Use invalidate() for a port that takes nothing.")
      receiver?.limits = newValue
    }
  }

  /// The bytes of memory that unfinished messages and waiting messages take.
  public final var heldByteCount: Int {
    (receiver?.account.held ?? 0) + inbox.waitingCost
  }

  /// The number of connected senders.
  public final var connectionCount: Int { receiver?.connectionCount ?? 0 }

  /// Makes a local port on a free TCP port of every IPv4 interface.
  ///
  /// If that fails, it ends the process with a message.
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

  /// Makes a local port on a TCP port of every IPv4 interface.
  ///
  /// With 0 the kernel chooses the port. The result is nil if the TCP port is not available.
  public convenience init?(tcpPort port: UInt16) {
    let address = SocketAddress.ipv4(.any, port: port)
    self.init(
      protocolFamily: AF_INET, socketType: CInt(SOCK_STREAM.rawValue), protocol: CInt(IPPROTO_TCP),
      address: Data(address.socketBytes))
  }

  /// Makes a local port at `address`, the bytes of a sockaddr. Nil if that fails.
  public init?(protocolFamily family: Int32, socketType type: Int32, protocol: Int32, address: Data) {
    guard let address = try? SocketAddress(socketBytes: Array(address)), address.family == family,
      let socket = try? Self.makeSocket(type, address)
    else { return nil }
    receiver = SocketPortReceiver(socket)
    signature = SocketPortSignature(family, type, `protocol`, socket.localAddress ?? address)
    sender = .shared(for: signature)
    super.init()
  }

  /// Makes a local port on an open socket, and takes ownership of the socket.
  ///
  /// The socket listens, or is for datagrams. The result is nil if `sock` is no socket of these.
  public init?(protocolFamily family: Int32, socketType type: Int32, protocol: Int32, socket sock: SocketNativeHandle) {
    guard let socket = try? Socket(owning: sock), let address = socket.localAddress else { return nil }
    receiver = SocketPortReceiver(socket)
    signature = SocketPortSignature(family, type, `protocol`, address)
    sender = .shared(for: signature)
    super.init()
  }

  /// Makes a remote port for a TCP port of a host.
  ///
  /// The host is an address or a name; nil is this machine. Looking up a name blocks the thread. If the host has an
  /// IPv4 address, it is used. The result is nil if the host is not found.
  public convenience init?(remoteWithTCPPort port: UInt16, host hostName: String?) {
    guard let address = Self.address(of: hostName, port) else { return nil }
    self.init(
      remoteWithProtocolFamily: address.family, socketType: CInt(SOCK_STREAM.rawValue), protocol: CInt(IPPROTO_TCP),
      address: Data(address.socketBytes))
  }

  /// Makes a remote port for the port at `address`, the bytes of a sockaddr.
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

  /// Closes a local port and its connections; makes a remote port invalid.
  ///
  /// Only a local port posts `didBecomeInvalidNotification`.
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

  /// The socket of a valid local port; -1 for any other port.
  open var socket: SocketNativeHandle { receiver?.socket?.descriptor ?? -1 }

  /// Remote ports of the same address are equal; on Apple's systems they are one object.
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
    receiver?.leave(runLoop.getLoop(), Loop.Mode(mode))
  }

  // MARK: - Sending

  /// Sends a message to the port's address. Any thread; may block it until `limitDate`.
  ///
  /// The connection is kept for later messages.
  ///
  /// - Parameters:
  ///   - components: Data and socket ports.
  ///   - receivePort: The local socket port for replies.
  /// - Returns: Whether the kernel has taken the whole message. False for an invalid port, for components of other
  ///   kinds, for a message that is too long, without a listener, or without room until `limitDate`.
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
    guard let bytes = frame.encoded, bytes.count <= Self.messageLimit else { return false }
    return sender.send(bytes, before: limitDate)
  }
}
