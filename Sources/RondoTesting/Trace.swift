public import Rondo
import Synchronization

/// Records events as one text, which a test compares whole. Any thread.
public final class Trace: Sendable {
  private let notes = Mutex<[String]>([])

  /// Makes an empty trace.
  public init() {}

  /// The tokens so far, in order.
  public var tokens: [String] { notes.withLock { $0 } }

  /// Adds a token.
  public func note(_ token: String) {
    notes.withLock { $0.append(token) }
  }

  /// The tokens so far, separated by spaces.
  public var text: String {
    tokens.joined(separator: " ")
  }

  /// Returns the text so far, and removes all tokens.
  public func take() -> String {
    notes.withLock { notes in
      defer { notes = [] }
      return notes.joined(separator: " ")
    }
  }

  /// Adds an observer that notes each activity of a mode. The tokens are E BT BS BW AW X.
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
