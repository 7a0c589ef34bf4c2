/// What the command was asked for.
struct Arguments: Equatable {
  /// A process's number or name.
  let target: String
  let request: Request

  enum Request: Equatable {
    case report, json, prometheus, stack
    /// For so many milliseconds; as a page, or for other programs.
    case trace(Int, isPage: Bool)
    /// Every so many milliseconds.
    case top(Int)
  }

  enum Mistake: Error, Equatable, CustomStringConvertible {
    case helpWanted
    case noProcess
    case unknown(String)
    case duration(String)

    var description: String {
      switch self {
      case .helpWanted: "help"
      case .noProcess: "which process? Give its number or its name."
      case .unknown(let word): "\"\(word)\" is not understood."
      case .duration(let text): "\"\(text)\" is no time from 1 ms to 60 s. Write 500ms or 5s."
      }
    }
  }

  static let usage = """
    usage: rondo-inspect PROCESS                 what its loops do, in words
           rondo-inspect PROCESS --json          the same for programs
           rondo-inspect PROCESS --prometheus    counters and histograms
           rondo-inspect PROCESS stack           where its loops' threads are
           rondo-inspect PROCESS trace 5s        a trace for Perfetto, on stdout
           rondo-inspect PROCESS trace 5s --html the same as a page that draws it
           rondo-inspect PROCESS top [1s]        live
    PROCESS is a number or a name. It answers its own user if it imports RondoInspect and was started with
    RONDO_INSPECT=socket in its environment, or calls Inspector.open().

    """

  init(_ words: [String]) throws(Mistake) {
    if words.contains("--help") || words.contains("-h") { throw .helpWanted }
    guard let first = words.first else { throw .noProcess }
    if first.hasPrefix("-") { throw .unknown(first) }
    target = first
    var rest = words.dropFirst()
    let isPage = rest.first == "trace" && rest.last == "--html"
    if isPage { rest.removeLast() }
    switch (rest.first, rest.count) {
    case (nil, _): request = .report
    case ("--json", 1): request = .json
    case ("--prometheus", 1): request = .prometheus
    case ("stack", 1): request = .stack
    case ("trace", 1): request = .trace(5_000, isPage: isPage)
    case ("trace", 2): request = .trace(try Self.milliseconds(rest[rest.startIndex + 1]), isPage: isPage)
    case ("top", 1): request = .top(1_000)
    case ("top", 2): request = .top(try Self.milliseconds(rest[rest.startIndex + 1]))
    default: throw .unknown(rest.joined(separator: " "))
    }
  }

  private static func milliseconds(_ text: String) throws(Mistake) -> Int {
    let scale = text.hasSuffix("ms") ? 1 : text.hasSuffix("s") ? 1_000 : nil
    guard let scale, let number = Int(text.dropLast(scale == 1 ? 2 : 1)), 1...60_000 ~= number,
      number * scale <= 60_000
    else { throw .duration(text) }
    return number * scale
  }
}
