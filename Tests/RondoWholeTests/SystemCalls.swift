/// What `strace -f` saw, with the marks that the probe's threads left in it.
struct SystemCalls {
  private struct Call {
    let thread: Substring
    let name: String
    /// The text of a mark: a write to descriptor -1.
    let mark: Substring?
  }

  private var calls: [Call] = []

  init(_ trace: String) {
    for line in trace.split(separator: "\n") {
      // `PID name(arguments) = result`; a call that another thread interrupts resumes on a line of its own.
      let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
      guard parts.count == 2 else { continue }
      let text = parts[1].drop { $0 == " " }
      guard let open = text.firstIndex(of: "("), let first = text.first, first.isLetter else { continue }
      let isMark = text.hasPrefix("write(-1, \"")
      let mark = isMark ? text.dropFirst("write(-1, \"".count).prefix { $0 != "\"" } : nil
      calls.append(Call(thread: parts[0], name: Self.commonName(text[..<open]), mark: mark))
    }
  }

  /// How often a thread made each call between its own marks `begin` and `end`; nil if a mark is missing.
  func counts(from begin: String, to end: String) -> [String: Int]? {
    guard let first = calls.firstIndex(where: { $0.mark == begin[...] }) else { return nil }
    let thread = calls[first].thread
    guard let last = calls.firstIndex(where: { $0.mark == end[...] && $0.thread == thread }), first < last else {
      return nil
    }
    return calls[first...last].filter { $0.thread == thread && $0.mark == nil }
      .reduce(into: [:]) { $0[$1.name, default: 0] += 1 }
  }

  /// One name for calls that differ by architecture.
  private static func commonName(_ name: Substring) -> String {
    if name.hasPrefix("epoll_p") { return "epoll_wait" }
    return name == "newfstatat" ? "fstat" : String(name)
  }
}
