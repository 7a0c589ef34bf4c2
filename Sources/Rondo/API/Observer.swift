extension Loop {
  /// Calls its handler at chosen moments of each turn. See CFRunLoopObserver.
  ///
  /// An observer is in one loop at a time, in several modes.
  public class Observer: Item, @unchecked Sendable {
    /// The moments at which the handler is called.
    public let activities: Activity
    /// Whether the handler is called more than once. Otherwise the observer is invalid after its first call.
    public let repeats: Bool
    /// *until released* Called on the loop's thread.
    @safe @exclusivity(unchecked) private(set) var handler: ((Activity) -> Void)?

    /// Makes an observer of `activities`. Any thread.
    ///
    /// - Parameters:
    ///   - repeats: False invalidates the observer after its first call.
    ///   - order: Lower is called first; equal orders in order of insertion. Clamped to `Int32`.
    ///   - handler: Called on the loop's thread, with the one activity that the loop has reached.
    public init(
      _ activities: Activity, repeats: Bool = true, order: Int = 0,
      fileID: StaticString = #fileID, line: UInt = #line, handler: sending @escaping (Activity) -> Void
    ) {
      self.activities = activities
      self.repeats = repeats
      self.handler = handler
      super.init(kind: .observer, order: order, Label(fileID: fileID, line: line))
    }

    override func releaseHandlers() {
      handler = nil
    }
  }
}
