public import Rondo
public import RondoAsync

/// What happens to the process, as async sequences.
extension Loop {
  /// Returns a sequence of the deliveries of some signals, and claims the signals. Any thread.
  ///
  /// Deliveries of one signal that come before the task asks are merged: their `count` is added. The sequence throws
  /// the reason why the loop gave up on a signal. See ``SignalSource``.
  ///
  /// ```swift
  /// for try await delivery in try loop.signals([SIGHUP, SIGUSR1]) { print("signal \(delivery.signal)") }
  /// ```
  ///
  /// - Parameter signals: At least one; the same one twice counts once.
  /// - Throws: As `SignalSource.init`. No signal is then claimed.
  public func signals(
    _ signals: [CInt], in mode: Mode = .common
  ) throws(SignalError) -> Events<[SignalSource], SignalSource.Delivery, DescriptorSource.InvalidationReason> {
    require(!signals.isEmpty, "A sequence of no signal would never end. Name one, for example SIGTERM.")
    let feed = Feed<SignalSource.Delivery, DescriptorSource.InvalidationReason> { kept, delivery in
      if let index = kept.firstIndex(where: { $0.signal == delivery.signal }) {
        kept[index] = delivery.counting(kept[index])
      } else {
        kept.append(delivery)
      }
    }
    feed.failure = { ($0 as? DescriptorSource)?.invalidationReason }
    var sources: [SignalSource] = []
    for signal in signals where !sources.contains(where: { $0.signal == signal }) {
      sources.append(try SignalSource(signal) { _, delivery in feed.offer(delivery) })
    }
    let all = sources
    feed.follow(all.flatMap(\.items), in: mode, of: self) { for source in all { source.invalidate() } }
    return Events(of: all, feed)
  }

  /// Returns a sequence of the changes of a path. Any thread.
  ///
  /// Changes that come before the task asks are merged into one set. The sequence throws why the kernel stopped watching
  /// the path. See ``PathSource``.
  ///
  /// - Throws: As `PathSource.init`.
  public func changes(
    of path: String, in mode: Mode = .common
  ) throws(FileError) -> Events<PathSource, PathSource.Change, FileError> {
    let feed = Feed<PathSource.Change, FileError> { kept, change in kept = [kept.first?.union(change) ?? change] }
    let source = try PathSource(path) { _, change in
      let change = change.subtracting(.failed)
      if !change.isEmpty { feed.offer(change) }
    }
    feed.failure = { _ in source.error }
    feed.follow(source.items, in: mode, of: self) { source.invalidate() }
    return Events(of: source, feed)
  }
}

extension SignalSource.Delivery {
  /// This one and an older one, as one.
  fileprivate func counting(_ older: Self) -> Self {
    Self(signal: signal, count: count + older.count, sender: sender, date: date)
  }
}
