import Glibc

/// Text of another process, without what would command a terminal.
enum Printable {
  /// A form for programs has no other way to write such characters: a program gets it as it is.
  static func text(_ text: String, on descriptor: CInt) -> String {
    isatty(descriptor) != 0 ? Self.text(text) : text
  }

  /// Line feeds are the command's own: what comes from elsewhere has none, once each of its strings went through `line`.
  static func text(_ text: String) -> String { escaped(text) { $0 != "\n" } }

  /// A text that stays in its line.
  static func line(_ text: String) -> String { escaped(text) { _ in true } }

  private static func escaped(_ text: String, where isMeant: (Unicode.Scalar) -> Bool) -> String {
    var escaped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isCommand(scalar), isMeant(scalar) {
        escaped += "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars
      } else {
        escaped.append(scalar)
      }
    }
    return String(escaped)
  }

  /// Emoji and some scripts need the two joiners, which do nothing else.
  private static func isCommand(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    case .format: scalar != "\u{200c}" && scalar != "\u{200d}"
    default: false
    }
  }
}
