public import Rondo

/// What happened, as one text to compare whole.
public final class Trace {
  /// The tokens so far.
  public private(set) var tokens: [String] = []

  public init() {}

  /// Adds a token.
  public func note(_ token: String) {
    tokens.append(token)
  }

  /// The tokens, separated by spaces.
  public var text: String {
    tokens.joined(separator: " ")
  }

  /// The text so far, and a fresh start.
  public func take() -> String {
    defer { tokens = [] }
    return text
  }

  /// Notes every activity of a mode: E BT BS BW AW X.
  @discardableResult
  public func observe(_ loop: Loop, in mode: Loop.Mode = .default, order: Int = 0) -> Loop.Observer {
    nonisolated(unsafe) let trace = self
    let observer = Loop.Observer(.all, order: order) { activity in
      unsafe trace.note(Trace.name(of: activity))
    }
    loop.add(observer, to: mode)
    return observer
  }

  private static func name(of activity: Loop.Activity) -> String {
    switch activity {
    case .entry: "E"
    case .beforeTimers: "BT"
    case .beforeSources: "BS"
    case .beforeWaiting: "BW"
    case .afterWaiting: "AW"
    case .exit: "X"
    default: activity.description
    }
  }
}
