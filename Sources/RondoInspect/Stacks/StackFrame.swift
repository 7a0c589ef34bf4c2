/// One function of a thread's stack.
public struct StackFrame: Sendable, Hashable, CustomStringConvertible {
  /// The address in memory.
  public let address: UInt64
  /// The readable name of the function; nil if the file has none for it.
  public var function: String?
  /// The distance from the beginning of the function, in bytes.
  public var offset: Int64 = 0
  /// The file that contains the code.
  public var image: String?
  /// The file of the source; nil if the program has no debug information.
  public var file: String?
  /// The line of the source.
  public var line: Int?
  /// Whether the compiler inlined the function into that of the next frame.
  package var isInlined = false
  /// Whether the frame was found without a frame pointer.
  ///
  /// It may then be a trace of an earlier call.
  package var isGuess = false
  /// Whether the function is one of Rondo's or libevent's.
  package var isOfLoop = false

  /// The function, its file and its line of source, in one line.
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
