/// Counts requests as RFC 9112 frames them, up to the first that breaks a rule. It shares no code with the server.
struct StrictReader {
  private let bytes: [UInt8]
  private var place = 0
  private(set) var count = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    while readRequest() {}
  }

  private static let token = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)

  /// The next line, without its end; nil if it does not end with CR and LF, or has one of them alone.
  private mutating func line() -> ArraySlice<UInt8>? {
    guard let end = bytes[place...].firstIndex(of: 0x0A), end > place, bytes[end - 1] == 0x0D else { return nil }
    let line = bytes[place..<(end - 1)]
    place = end + 1
    return line.contains(0x0D) || line.contains(0) ? nil : line
  }

  /// Lines of fields with the empty one behind them.
  private mutating func fields() -> [(name: String, value: String)]? {
    var fields: [(name: String, value: String)] = []
    while let line = line() {
      if line.isEmpty { return fields }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
        line[..<colon].allSatisfy(Self.token.contains)
      else { return nil }
      var value = line[(colon + 1)...]
      while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
      while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
      fields.append(
        (String(decoding: line[..<colon], as: UTF8.self).lowercased(), String(decoding: value, as: UTF8.self)))
    }
    return nil
  }

  /// - Returns: Whether another request may follow.
  private mutating func readRequest() -> Bool {
    while bytes[place...].starts(with: [0x0D, 0x0A]) { place += 2 }
    guard let words = line()?.split(separator: 0x20, omittingEmptySubsequences: false), words.count == 3,
      !words[0].isEmpty, words[0].allSatisfy(Self.token.contains),
      !words[1].isEmpty, words[1].allSatisfy({ 0x21...0x7E ~= $0 }),
      words[2].elementsEqual("HTTP/1.1".utf8) || words[2].elementsEqual("HTTP/1.0".utf8),
      let fields = fields()
    else { return false }
    let lengths = fields.filter { $0.name == "content-length" }.map(\.value)
    let encodings = fields.filter { $0.name == "transfer-encoding" }.map(\.value)
    let hosts = fields.filter { $0.name == "host" }.count
    let isOld = words[2].last == UInt8(ascii: "0")
    guard lengths.count + encodings.count < 2, hosts == 1 || (isOld && hosts == 0), !isOld || encodings.isEmpty,
      encodings.allSatisfy({ $0.lowercased() == "chunked" }),
      lengths.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } && Int($0) != nil })
    else { return false }
    count += 1
    if let length = lengths.first.flatMap({ Int($0) }) {
      if length > bytes.count - place { return false }
      place += length
    }
    return encodings.isEmpty || skipChunks()
  }

  private mutating func skipChunks() -> Bool {
    while let line = line() {
      let digits = line.prefix { $0 != UInt8(ascii: ";") }
      let isHexadecimal = digits.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
      guard isHexadecimal, let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else { return false }
      if size == 0 { return fields() != nil }
      guard size <= bytes.count - place - 2, bytes[place + size] == 0x0D, bytes[place + size + 1] == 0x0A else {
        return false
      }
      place += size + 2
    }
    return false
  }
}
