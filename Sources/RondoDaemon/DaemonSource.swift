public import Rondo

/// A source of signals, children, files, calendar times or pressure: a handle of its items.
///
/// Copying the handle costs nothing; the copy is the same source. A source is in one loop at a time, in several modes.
/// The loop keeps the source until you invalidate it; you need not keep the handle. Any thread.
public protocol DaemonSource: Hashable, Sendable {
  /// The items of the source. Each mode has all of them or none. The first calls the handler.
  var items: [Loop.Item] { get }

  /// Ends the source. It leaves its subject alone: for example, other code must then reap a child. Any thread.
  func invalidate()
}

extension DaemonSource {
  /// Whether the source can still call its handler. Any thread.
  public var isValid: Bool { items[0].isValid }

  /// Why the loop stopped watching the source; nil while it watches. Any thread.
  ///
  /// The source is invalid then. Its handler is called with an event for it. A signal and a clock have no such event;
  /// they print a line to stderr.
  public var failure: Loop.DescriptorSource.InvalidationReason? {
    (items[0] as? Loop.DescriptorSource)?.invalidationReason
  }

  /// Ends the source. Any thread.
  public func invalidate() {
    for item in items { item.invalidate() }
  }

  /// Whether two handles are of the same source.
  public static func == (left: Self, right: Self) -> Bool { left.items[0] === right.items[0] }

  /// Hashes the identity of the source.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(items[0])) }
}

/// Membership.
extension Loop {
  /// Adds a source to a mode, or with `.common` to the common modes. Any thread.
  ///
  /// See `Loop.add(_:to:)` of Rondo.
  ///
  /// - Returns: Whether it is a member afterwards: false if it is invalid, in another loop, or the loop has ended.
  @discardableResult
  public func add(_ source: some DaemonSource, to mode: Mode = .default) -> Bool {
    source.items.reduce(true) { add($1, to: mode) && $0 }
  }

  /// Removes a source from a mode, immediately. Any thread.
  ///
  /// Events that happen afterwards wait until you add the source again.
  public func remove(_ source: some DaemonSource, from mode: Mode = .default) {
    for item in source.items { remove(item, from: mode) }
  }

  /// Whether a source is in a mode. Any thread. With `.common`, whether it is in the common set.
  public func contains(_ source: some DaemonSource, in mode: Mode = .default) -> Bool {
    contains(source.items[0], in: mode)
  }
}
