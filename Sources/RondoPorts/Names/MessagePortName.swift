import CLinux
import Glibc
package import RondoSockets

/// The name and place by which a sender finds a message port.
public struct MessagePortName: Hashable, Sendable, CustomStringConvertible {
  /// The name within its place.
  public let text: String
  package let place: Place

  /// The set of names that a name belongs to.
  public enum Place: Hashable, Sendable {
    /// The abstract namespace of Unix-domain sockets, one set for each user. See unix(7).
    ///
    /// Nil is the effective user of this process. The name is free when its port ends, and needs no file system. Any
    /// process in the same network namespace can take such a name, so each end asks the kernel for the other's user.
    case abstract(user: UInt32? = nil)
    /// The user's runtime directory: $XDG_RUNTIME_DIR, otherwise /run/user/UID, or /run for root.
    ///
    /// A program with more rights than its caller ignores the variable. See secure_getenv(3).
    case runtimeDirectory
    /// A directory to which only this user or root may write.
    case directory(String)
  }

  /// Creates a name. Names are compared byte by byte.
  ///
  /// - Throws: `.badName`; `.noRuntimeDirectory`.
  public init(_ text: String, in place: Place = .abstract()) throws(MessagePortError) {
    self.text = text
    self.place = place
    let hasBadByte = text.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
    guard !text.isEmpty, text != ".", text != "..", !hasBadByte else { throw .badName(text) }
    _ = try address
  }

  // The kernel compares bytes. Swift's strings are equal in other bytes as well, if these mean the same characters.

  /// Whether two names are of the same port, byte by byte.
  public static func == (one: MessagePortName, other: MessagePortName) -> Bool {
    one.bytes == other.bytes && one.kind == other.kind
  }

  /// Hashes the name's bytes.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytes)
  }

  /// The name behind its directory, of which a zero parts it.
  private var bytes: [UInt8] {
    if case .directory(let path) = place { Array(path.utf8) + [0] + Array(text.utf8) } else { Array(text.utf8) }
  }

  /// The place but for a directory's path, which `bytes` has.
  private var kind: Place {
    if case .directory = place { .directory("") } else { place }
  }

  /// The name and its place.
  public var description: String {
    switch place {
    case .abstract(nil): "'\(text)'"
    case .abstract(let user?): "'\(text)' of user \(user)"
    case .runtimeDirectory: "'\(text)' in the runtime directory"
    case .directory(let path): "'\(text)' in \(path)"
    }
  }

  /// Where the port's socket is.
  package var address: SocketAddress {
    get throws(MessagePortError) {
      let directory = try directory
      do throws(AddressError) {
        if let directory { return try .file("\(directory)/\(text).port") }
        var owner = geteuid()
        if case .abstract(let user?) = place { owner = user }
        return try .abstract("rondo/\(owner)/\(text)")
      } catch {
        throw .badName(text)
      }
    }
  }

  /// The directory of the port's files; nil if it has none.
  var directory: String? {
    get throws(MessagePortError) {
      switch place {
      case .abstract: return nil
      case .directory(let path): return path
      case .runtimeDirectory:
        if let path = unsafe rondo_environment("XDG_RUNTIME_DIR"),
          unsafe path.pointee == CChar(bitPattern: UInt8(ascii: "/"))
        {
          return unsafe String(cString: path)
        }
        let user = geteuid()
        let path = user == 0 ? "/run" : "/run/user/\(user)"
        guard unsafe access(path, F_OK) == 0 else { throw .noRuntimeDirectory }
        return path
      }
    }
  }
}
