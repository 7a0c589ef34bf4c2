internal import CRondoCFPointers

/// The encodings of a CFString's bytes that are understood.
enum Encoding {
  case utf8, utf16, utf16BE, utf16LE, ascii, latin1

  init?(_ encoding: CFStringEncoding) {
    switch encoding {
    case CFStringBuiltInEncodings.UTF8.rawValue: self = .utf8
    case CFStringBuiltInEncodings.UTF16.rawValue: self = .utf16
    case CFStringBuiltInEncodings.UTF16BE.rawValue: self = .utf16BE
    case CFStringBuiltInEncodings.UTF16LE.rawValue: self = .utf16LE
    // Its other half is for systems of the past.
    case CFStringBuiltInEncodings.ASCII.rawValue, CFStringBuiltInEncodings.macRoman.rawValue: self = .ascii
    case CFStringBuiltInEncodings.isoLatin1.rawValue: self = .latin1
    default: return nil
    }
  }

  /// How many bytes a unit of UTF-16 takes at most.
  var mostBytesOfUnit: Int {
    switch self {
    case .utf8: 3
    case .utf16, .utf16BE, .utf16LE: 2
    case .ascii, .latin1: 1
    }
  }

  /// What an external representation begins with.
  var mark: [UInt8] { self == .utf16 ? [0xff, 0xfe] : [] }

  /// Nil if the bytes are not of the encoding.
  func decode(_ bytes: [UInt8], isExternal: Bool) -> String? {
    switch self {
    case .utf8:
      let hasMark = isExternal && bytes.starts(with: [0xef, 0xbb, 0xbf])
      return String(validating: hasMark ? bytes.dropFirst(3) : bytes[...], as: UTF8.self)
    case .ascii: return bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
    case .latin1: return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    case .utf16, .utf16BE, .utf16LE:
      guard bytes.count.isMultiple(of: 2) else { return nil }
      let little = stride(from: 0, to: bytes.count, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
      var isBig = self == .utf16BE
      var units = little[...]
      if self == .utf16, isExternal, let first = little.first, first == 0xfeff || first == 0xfffe {
        isBig = first == 0xfffe
        units = little.dropFirst()
      }
      return String(validating: isBig ? units.map(\.byteSwapped) : Array(units), as: UTF16.self)
    }
  }

  /// Nil if a character is not in the encoding.
  func encode(_ string: String) -> [UInt8]? {
    if self == .utf8 { return Array(string.utf8) }
    var bytes: [UInt8] = []
    for scalar in string.unicodeScalars {
      guard let encoded = encode(scalar) else { return nil }
      bytes += encoded
    }
    return bytes
  }

  func encode(_ scalar: Unicode.Scalar) -> [UInt8]? {
    switch self {
    case .utf8: Array(UTF8.encode(scalar)!)
    case .ascii: scalar.value < 0x80 ? [UInt8(scalar.value)] : nil
    case .latin1: scalar.value < 0x100 ? [UInt8(scalar.value)] : nil
    case .utf16, .utf16LE: UTF16.encode(scalar)!.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    case .utf16BE: UTF16.encode(scalar)!.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }
  }
}
