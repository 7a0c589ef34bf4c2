import Glibc
import Rondo
public import RondoSockets

/// Sockets that a process gets from systemd or from its predecessor, and its successor from it, by their names.
extension Daemon {
  /// Returns the listener that was passed by a name, or opens one. Any thread.
  ///
  /// systemd passes it by the unit's FileDescriptorName= (then the unit's address counts) or from the store of
  /// ``store(_:as:)``; the predecessor as ``allowSuccessor(on:program:arguments:timeout:)`` has it, if it listened at the
  /// same address. Each call takes one of the name. While you keep the listener, a successor gets it by that name.
  ///
  /// ```swift
  /// let listener = try daemon.listener("echo", at: .loopback())
  /// ```
  ///
  /// - Parameters:
  ///   - name: 1 to 255 printable characters of ASCII, without a colon.
  ///   - address: Where it listens if none was passed; see `Listener.init(at:backlog:options:)`.
  /// - Throws: As that; `.system` with EOPNOTSUPP or EINVAL if what was passed does not listen for connections.
  public func listener(
    _ name: String, at address: SocketAddress, backlog: Int = Socket.usualBacklog, options: [Socket.Option] = []
  ) throws(SocketError) -> Listener {
    let passed = try takePassed(name) { isAtSamePlace($0, address) }
    let listener: Listener
    if let passed {
      listener = try Listener(passed, takingOver: predecessor != nil)
    } else {
      listener = try Listener(at: address, backlog: backlog, options: options)
    }
    sockets.withLock { $0.open.append(NamedSockets.Entry(name: name, socket: listener.socket, listener: listener)) }
    return listener
  }

  /// Returns the socket that was passed by a name, or opens one. Any thread.
  ///
  /// It is for sockets that are no listeners, as those of datagrams; else as ``listener(_:at:backlog:options:)``.
  ///
  /// ```swift
  /// let input = try daemon.socket("input", or: .datagram(at: .loopback()))
  /// ```
  ///
  /// - Parameters:
  ///   - name: As there.
  ///   - address: The one that a predecessor's socket must have to be taken; nil for any.
  ///   - open: Makes the socket if none was passed.
  /// - Throws: What `open` throws; `.system` if what was passed is no stream or datagram socket.
  public func socket(
    _ name: String, at address: SocketAddress? = nil, or open: @autoclosure () throws(SocketError) -> Socket
  ) throws(SocketError) -> Socket {
    let passed = try takePassed(name) { socket in address.map { isAtSamePlace(socket, $0) } ?? true }
    let socket = if let passed { passed } else { try open() }
    sockets.withLock { $0.open.append(NamedSockets.Entry(name: name, socket: socket, listener: nil)) }
    return socket
  }

  private func takePassed(_ name: String, if fits: (Socket) -> Bool) throws(SocketError) -> Socket? {
    NamedSockets.check(name)
    // A unit of systemd's has the last word. A successor may have another configuration.
    if predecessor == nil { return try sockets.withLock { $0.take(name) }?.socket() }
    if let socket = sockets.withLock({ $0.takeRefused(name, if: fits) }) { return socket }
    while let descriptor = sockets.withLock({ $0.take(name) }) {
      let socket = try descriptor.socket()
      if fits(socket) { return socket }
      sockets.withLock { $0.refused.append((name, socket)) }
    }
    return nil
  }

  private func isAtSamePlace(_ socket: Socket, _ address: SocketAddress) -> Bool {
    address.port == 0 || socket.localAddress == address
  }
}

/// The sockets of a daemon by their names.
struct NamedSockets {
  /// What the process began with, and has not taken.
  var passed: [ActivatedDescriptor]
  /// What did not fit the call that asked for its name, and may fit another one.
  var refused: [(name: String, socket: Socket)] = []
  /// What it has opened or taken, as long as it is open.
  var open: [Entry] = []

  struct Entry {
    let name: String
    weak var socket: Socket?
    weak var listener: Listener?
  }

  mutating func take(_ name: String) -> ActivatedDescriptor? {
    passed.firstIndex { $0.name == name }.map { passed.remove(at: $0) }
  }

  mutating func takeRefused(_ name: String, if fits: (Socket) -> Bool) -> Socket? {
    refused.firstIndex { $0.name == name && fits($0.socket) }.map { refused.remove(at: $0).socket }
  }

  /// The open ones, in the order in which they came.
  var present: [(name: String, socket: Socket)] {
    mutating get {
      open.removeAll { $0.socket == nil }
      return open.compactMap { entry in entry.socket.map { (entry.name, $0) } }
    }
  }

  /// Clients of a socket that this program does not know any more would wait in vain.
  mutating func closeUnclaimed() {
    for one in passed { close(one.descriptor) }
    (passed, refused) = ([], [])
  }

  /// Ends the process if systemd does not take a name.
  static func check(_ name: String) {
    let isRight = 1...255 ~= name.utf8.count && name.utf8.allSatisfy { 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: ":") }
    require(isRight, "A descriptor's name has 1 to 255 printable characters of ASCII and no colon, not \"\(name)\".")
  }
}
