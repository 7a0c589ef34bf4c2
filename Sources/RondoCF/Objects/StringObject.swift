import Rondo

/// A string that is equal to those of the same characters in the same form, as a CFString is. Swift's `==` takes an "é" of
/// one scalar for an "é" of two, which are two names in the kernel.
struct Literal: Hashable {
  let string: String

  static func == (one: Literal, other: Literal) -> Bool { one.string.utf8.elementsEqual(other.string.utf8) }

  func hash(into hasher: inout Hasher) {
    for byte in string.utf8 { hasher.combine(byte) }
  }
}

/// A CFString.
@safe final class StringObject: CFObject, @unchecked Sendable {
  /// *constant*
  let string: String
  /// *constant* The same in UTF-8, with a zero at its end.
  let characters: UnsafeMutablePointer<CChar>

  init(_ string: String) {
    self.string = string
    let bytes = string.utf8
    unsafe characters = .allocate(capacity: bytes.count + 1)
    for (index, byte) in bytes.enumerated() { unsafe characters[index] = CChar(bitPattern: byte) }
    unsafe characters[bytes.count] = 0
  }

  deinit {
    unsafe characters.deallocate()
  }

  override class var typeID: UInt { 7 }
  override var text: String { string }
  override var hashCode: UInt { UInt(bitPattern: literal.hashValue) }

  override func isEqual(to other: CFObject) -> Bool {
    (other as? StringObject)?.literal == literal
  }

  var literal: Literal { Literal(string: string) }

  /// The mode of that name.
  var mode: Loop.Mode { Loop.Mode(rawValue: string) }

  private static let constants = PerProcess<[Literal: StringObject]>([:])

  /// The one string with these characters that lasts as long as the process.
  static func constant(_ string: String) -> StringObject {
    let made = StringObject(string)
    return constants.withLock { constants in
      if let found = constants[made.literal] { return found }
      constants[made.literal] = made
      return made
    }
  }
}

/// The mode that a CFString names; nil for NULL.
func mode(_ name: UnsafeRawPointer?) -> Loop.Mode? {
  unsafe object(name, StringObject.self)?.mode
}
