extension Loop {
  /// Is called at the moments of a turn it asks for. One loop at a time, several modes. See CFRunLoopObserver.
  public class Observer: Item, @unchecked Sendable {
    /// *constant*
    public let activities: Activity
    /// *constant* A one-shot observer is invalidated after its first call.
    public let repeats: Bool
    /// *until released* Called on the loop's thread.
    @safe @exclusivity(unchecked) private(set) var handler: ((Activity) -> Void)?

    /// An observer that is called on the loop's thread at `activities`.
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
