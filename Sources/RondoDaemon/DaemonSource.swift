public import Rondo

/// What tells a loop of signals, children, files, calendar times or pressure. It is a handle of the items that stand in
/// the loop.
///
/// Copying the handle costs nothing, and means the same source. One loop at a time, several modes; the loop keeps what
/// is added to it until it is invalidated, whether or not somebody keeps the handle. Any thread.
public protocol DaemonSource: Hashable, Sendable {
  /// What stands in the loop for the source: in every mode all of them, or none. The first is the one that tells.
  var items: [Loop.Item] { get }

  /// Ends the source, and leaves what it tells of to itself: a child, for one, has to be waited for by others. Any thread.
  func invalidate()
}

extension DaemonSource {
  /// Whether the source can still be called. Any thread.
  public var isValid: Bool { items[0].isValid }

  /// Why the loop could not watch it, or could no longer; nil while it can. The source is invalid then. Any thread.
  ///
  /// Told by the handler where that has a word for it; a signal and a clock, which have none, are told of on stderr.
  public var failure: Loop.DescriptorSource.InvalidationReason? {
    (items[0] as? Loop.DescriptorSource)?.invalidationReason
  }

  public func invalidate() {
    for item in items { item.invalidate() }
  }

  public static func == (left: Self, right: Self) -> Bool { left.items[0] === right.items[0] }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(items[0])) }
}

/// Membership.
extension Loop {
  /// Puts a source into a mode, or with `.common` into the common modes. Any thread. See `Loop.add(_:to:)` of Rondo.
  ///
  /// - Returns: Whether it is a member afterwards: false if it is invalid, in another loop, or the loop is gone.
  @discardableResult
  public func add(_ source: some DaemonSource, to mode: Mode = .default) -> Bool {
    source.items.reduce(true) { add($1, to: mode) && $0 }
  }

  /// Takes a source out of a mode. It holds at once; what happens meanwhile is told when it is in a mode again. Any thread.
  public func remove(_ source: some DaemonSource, from mode: Mode = .default) {
    for item in source.items { remove(item, from: mode) }
  }

  /// Whether a source is in a mode. With `.common`, whether it is in the common set. Any thread.
  public func contains(_ source: some DaemonSource, in mode: Mode = .default) -> Bool {
    contains(source.items[0], in: mode)
  }
}
