public import Rondo
import Synchronization

/// What happened, as one text to compare whole. Any thread may note something.
public final class Trace: Sendable {
  private let notes = Mutex<[String]>([])

  public init() {}

  /// The tokens so far.
  public var tokens: [String] { notes.withLock { $0 } }

  /// Adds a token.
  public func note(_ token: String) {
    notes.withLock { $0.append(token) }
  }

  /// The tokens, separated by spaces.
  public var text: String {
    tokens.joined(separator: " ")
  }

  /// The text so far, and a fresh start.
  public func take() -> String {
    notes.withLock { notes in
      defer { notes = [] }
      return notes.joined(separator: " ")
    }
  }

  /// Notes every activity of a mode: E BT BS BW AW X.
  @discardableResult
  public func observe(_ loop: Loop, in mode: Loop.Mode = .default, order: Int = 0) -> Loop.Observer {
    let observer = Loop.Observer(.all, order: order) { activity in self.note(Trace.name(of: activity)) }
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
