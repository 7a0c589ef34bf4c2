/// A JSON value, written with its members in the order given. See RFC 8259.
package enum JSON: Sendable, Hashable {
  case null
  case bool(Bool)
  case number(Int64)
  /// A number of thousandths, written with three decimals.
  case thousandths(Int64)
  case string(String)
  case array([JSON])
  case object([Member])

  package struct Member: Sendable, Hashable {
    package let name: String
    package let value: JSON
  }

  /// An object without the members that are nil.
  static func members(_ members: KeyValuePairs<String, JSON?>) -> JSON {
    .object(members.compactMap { name, value in value.map { Member(name: name, value: $0) } })
  }

  static func optional(_ number: Int64?) -> JSON? { number.map(JSON.number) }

  /// The text of the value, in one line.
  package var text: String {
    var text = ""
    write(to: &text)
    return text
  }

  /// Appends the text.
  func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let value): text += String(value)
    case .thousandths(let value):
      let digits = String(value.magnitude % 1_000)
      text += (value < 0 ? "-" : "") + String(value.magnitude / 1_000) + "."
      text += String(repeating: "0", count: 3 - digits.count) + digits
    case .string(let value): Self.write(value, to: &text)
    case .array(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += "," }
        value.write(to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { text += "," }
        Self.write(member.name, to: &text)
        text += ":"
        member.value.write(to: &text)
      }
      text += "}"
    }
  }

  private static func write(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      // Those above command terminals as well, or turn the text around.
      case "\0"..<" ", "\u{7f}"..."\u{9f}", "\u{2028}"..."\u{202e}", "\u{2066}"..."\u{2069}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
