extension Loop.Inventory {
  /// Each mode and each item in a line, and how many there are beyond a limit.
  ///
  /// - Parameters:
  ///   - now: The loop's clock, in nanoseconds.
  ///   - name: The words for a label.
  ///   - file: What a descriptor refers to.
  package func lines(
    now: Int64, limit: Int, name: (Label) -> String = Self.plainName, file: (CInt) -> String? = { _ in nil }
  ) -> [String] {
    var lines = modes.prefix(limit).map { Self.text($0, now) }
    lines += items.prefix(limit - lines.count).map { Self.text($0, now, name, file) }
    let more = modes.count + items.count - lines.count
    return more > 0 ? lines + ["and \(more) more"] : lines
  }

  /// A name, a place in the source, or the address of code.
  package static func plainName(_ label: Label) -> String {
    label.text ?? label.code.map { "0x\(String($0, radix: 16))" } ?? "?"
  }

  private static func text(_ mode: ModeEntry, _ now: Int64) -> String {
    var text = "mode \(mode.name)\(mode.isCommon ? ", common" : ""): \(mode.items) items"
    if mode.observers > 0 { text += ", \(mode.observers) observers" }
    if let date = mode.nextDate { text += ", next timer \(distance(date - now))" }
    return text
  }

  private static func text(
    _ item: ItemEntry, _ now: Int64, _ name: (Label) -> String, _ file: (CInt) -> String?
  ) -> String {
    let modes = (item.isCommon ? ["the common modes"] : []) + item.modes
    var text = "\(item.kind) \(name(item.label)) in \(modes.joined(separator: ", ")), order \(item.order)"
    switch item.kind {
    case .observer: text += ", at \(item.activities)"
    case .descriptor:
      text +=
        ", descriptor \(item.descriptor)" + (file(item.descriptor).map { " (\($0))" } ?? "") + ", \(item.interest)"
    case .timer:
      if let date = item.nextDate { text += ", \(distance(date - now))" }
      if item.interval > 0 { text += ", every \(time(item.interval))" }
      if item.tolerance > 0 { text += " ± \(time(item.tolerance))" }
      if item.isPrecise { text += ", precise" }
    default: if item.isSignalled { text += ", signalled" }
    }
    return item.isValid ? text : text + ", invalid"
  }

  /// How far a date is away.
  static func distance(_ left: Int64) -> String { left >= 0 ? "in \(time(left))" : "\(time(-left)) late" }

  private static func time(_ nanoseconds: Int64) -> String {
    switch nanoseconds {
    case ..<1_000: "\(nanoseconds) ns"
    case ..<1_000_000: decimal(nanoseconds, 1_000, "us")
    case ..<1_000_000_000: decimal(nanoseconds, 1_000_000, "ms")
    default: decimal(nanoseconds, 1_000_000_000, "s")
    }
  }

  private static func decimal(_ value: Int64, _ unit: Int64, _ name: String) -> String {
    let tenths = (value / (unit / 10) + (value % (unit / 10) * 2 >= unit / 10 ? 1 : 0))
    return tenths % 10 == 0 || tenths >= 1_000 ? "\(tenths / 10) \(name)" : "\(tenths / 10).\(tenths % 10) \(name)"
  }
}
