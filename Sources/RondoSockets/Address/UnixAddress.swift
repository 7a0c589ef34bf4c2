/// The name of a Unix-domain socket: a file, an abstract name, or none. See unix(7).
public struct UnixAddress: Hashable, Sendable {
  /// The namespace of a Unix-domain name.
  public enum Place: Hashable, Sendable {
    /// None: the socket was never bound.
    case unnamed
    /// The file system.
    case file
    /// The abstract namespace of the network namespace. A name there ends with its socket.
    case abstract
  }

  /// The namespace of the name.
  public let place: Place
  /// The name's bytes in the kernel, without the zero bytes around them.
  public let bytes: [UInt8]

  /// The longest name in bytes: sun_path is 108 bytes, one of them zero.
  static let nameLimit = 107

  /// Makes the name of a socket in the file system.
  ///
  /// - Throws: `.empty`, `.tooLong`, or `.containsZero`.
  public init(path: String) throws(AddressError) {
    try self.init(.file, Array(path.utf8), text: path)
    if bytes.contains(0) { throw .containsZero(path) }
  }

  /// Makes a name in the abstract namespace.
  ///
  /// - Throws: `.empty` or `.tooLong`.
  public init(abstract name: String) throws(AddressError) {
    try self.init(.abstract, Array(name.utf8), text: name)
  }

  /// The name of a socket that was never bound.
  public static let unnamed = UnixAddress(unchecked: .unnamed, [])

  init(_ place: Place, _ bytes: [UInt8], text: String) throws(AddressError) {
    if bytes.isEmpty { throw .empty }
    if bytes.count > Self.nameLimit { throw .tooLong(text, limit: Self.nameLimit) }
    self.init(unchecked: place, bytes)
  }

  init(unchecked place: Place, _ bytes: [UInt8]) {
    self.place = place
    self.bytes = bytes
  }
}

extension UnixAddress: CustomStringConvertible {
  /// The name as text. `/path`, `unix:path` for a relative path, `@name` for an abstract name, `unix:` for none.
  public var description: String {
    switch place {
    case .unnamed: "unix:"
    case .file: bytes.first == UInt8(ascii: "/") ? escaped : "unix:" + escaped
    case .abstract: "@" + escaped
    }
  }

  /// The name, with `\x` and two digits for what does not print, and for a backslash.
  private var escaped: String {
    let isPlain = { (byte: UInt8) in byte >= 0x20 && byte < 0x7f && byte != UInt8(ascii: "\\") }
    let digits = Array("0123456789abcdef")
    return bytes.reduce(into: "") { text, byte in
      if isPlain(byte) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += "\\x\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
      }
    }
  }

  /// Undoes the escapes; nil if one of them is broken.
  static func unescape(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x") else {
        bytes.append(byte)
        continue
      }
      rest.removeFirst()
      let digits = String(Substring(rest.prefix(2)))
      guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else {
        return nil
      }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}
