import Glibc

/// What something is called: one word, readable for as long as the process lives, by any thread, in a signal handler and
/// in a core file.
///
/// The lower 48 bits point at code, or text that is never freed. The upper 16 say which: the line of a file, or a mark.
package struct Label: Hashable, Sendable {
  package let word: UInt64

  private static let pointerBits: UInt64 = 48
  /// Text that stands for itself, where a line would be 0.
  private static let isName: UInt64 = 0
  /// The address of code: a reader that has symbols finds a name for it.
  private static let isCode: UInt64 = 0xFFFF
  /// Nothing is known.
  package static let none = Label(word: 0)

  package init(word: UInt64) {
    self.word = word
  }

  /// A place in the source, without an allocation. Of the line, 16 bits are kept.
  @inline(__always)
  package init(fileID: StaticString, line: UInt) {
    let text = unsafe UInt64(UInt(bitPattern: fileID.utf8Start))
    word = text | UInt64(line) << Self.pointerBits
  }

  /// The beginning of a function.
  package init(code: UInt) {
    word = code == 0 ? 0 : UInt64(code) | Self.isCode << Self.pointerBits
  }

  /// A name of its own; nil if the process has used up its names.
  package init?(name: String) {
    guard let text = unsafe NameTable.intern(name) else { return nil }
    word = UInt64(UInt(bitPattern: text))
  }

  /// The code it stands for, whose name is a matter of symbols.
  package var code: UInt? {
    word >> Self.pointerBits == Self.isCode ? UInt(word & (1 << Self.pointerBits - 1)) : nil
  }

  /// A name, or a file and a line; nil for code, and where nothing is known.
  package var text: String? {
    let line = word >> Self.pointerBits
    guard line != Self.isCode,
      let pointer = unsafe UnsafePointer<CChar>(bitPattern: UInt(word & (1 << Self.pointerBits - 1)))
    else { return nil }
    let text = unsafe String(cString: pointer)
    return line == Self.isName ? text : "\(text):\(line)"
  }
}

/// Names that were given to items and loops. Each is kept once and never freed: a reader, in this process or another,
/// cannot know whether its item still lives.
private enum NameTable {
  /// The most names that are kept: a name is for a kind of item, and not for each of a million connections.
  private static let limit = 16_384
  /// Bytes of a name.
  private static let longest = 127
  /// Addresses of texts.
  private static let names = PerProcess<[String: UInt]>([:])

  static func intern(_ name: String) -> UnsafePointer<CChar>? {
    var name = name
    while name.utf8.count > longest { name.removeLast() }
    let address = names.withLock { names -> UInt in
      if let known = names[name] { return known }
      guard names.count < limit, let text = unsafe strdup(name) else { return 0 }
      let address = UInt(bitPattern: text)
      names[name] = address
      return address
    }
    return unsafe UnsafePointer(bitPattern: address)
  }
}
