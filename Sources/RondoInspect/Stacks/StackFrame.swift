/// One function of a stuck thread's stack.
public struct StackFrame: Sendable, Hashable, CustomStringConvertible {
  /// In memory.
  public let address: UInt64
  /// The function, in its readable form; nil if the file has no name for it.
  public var function: String?
  /// How many bytes into the function.
  public var offset: Int64 = 0
  /// The file that the code is in.
  public var image: String?
  /// Where it stands in the source, if the program has debug information.
  public var file: String?
  public var line: Int?
  /// Whether the compiler has put the function into the one after it.
  public var isInlined = false
  /// Whether it was found without a frame pointer to vouch for it. It may be a trace of an earlier call.
  public var isGuess = false

  public var description: String {
    var text = isGuess ? "? " : "  "
    text += function ?? "0x" + String(address, radix: 16)
    if !isInlined, offset > 0, function != nil { text += " + \(offset)" }
    if let image { text += " in \(image)" }
    if let file { text += " at \(file)" + (line.map { ":\($0)" } ?? "") }
    return text
  }

  var json: JSON {
    .members([
      "address": .string("0x" + String(address, radix: 16)), "function": function.map(JSON.string),
      "offset": .number(offset), "image": image.map(JSON.string), "file": file.map(JSON.string),
      "line": line.map { .number(Int64($0)) }, "inlined": isInlined ? .bool(true) : nil,
      "guess": isGuess ? .bool(true) : nil,
    ])
  }
}
