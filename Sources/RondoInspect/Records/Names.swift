import Rondo

/// What labels and kinds are called in reports.
enum Names {
  /// A name; a file and a line; or, for code, the function's, if symbols are asked.
  ///
  /// - Parameter isBrief: Without symbols, which take milliseconds to look up: code is its address then.
  static func text(of label: Label, isBrief: Bool = false) -> String {
    if let text = label.text { return text }
    guard let code = label.code else { return "?" }
    let address = "0x" + String(code, radix: 16)
    if isBrief { return address }
    if let known = functions.withLock({ $0[code] }) { return known }
    let name = function(at: code) ?? address
    functions.withLock { functions in
      if functions.count < functionLimit { functions[code] = name }
    }
    return name
  }

  /// The names of code that were looked up.
  private static let functions = PerProcess<[UInt: String]>([:])
  private static let functionLimit = 4_096

  private static func function(at code: UInt) -> String? {
    guard let frame = Symbolicator.name(of: code), let function = frame.function else { return nil }
    guard let file = frame.file, let line = frame.line, line > 0 else { return function }
    return "\(function) at \(file.split(separator: "/").last ?? ""):\(line)"
  }

  static func text(ofKind kind: UInt64) -> String {
    guard kind <= 255, let kind = CalloutKind(rawValue: UInt8(kind)) else { return "others" }
    switch kind {
    case .mainQueue: return "main queue"
    default: return "\(kind)"
    }
  }

  static func text(ofReason reason: UInt8) -> String {
    switch WakeReason(rawValue: reason) {
    case nil: "none"
    case .mainQueue: "main queue"
    case let reason?: "\(reason)"
    }
  }
}

extension String {
  /// Whether a text is in it. The standard library's function would link librondo.so with all regular expressions.
  func has(_ text: String) -> Bool {
    let (whole, part) = (utf8, Array(text.utf8))
    return part.isEmpty || whole.indices.contains { whole[$0...].starts(with: part) }
  }
}
