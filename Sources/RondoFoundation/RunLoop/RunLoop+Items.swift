public import Foundation
public import Rondo

/// Sources, descriptor sources and observers, which Foundation on Linux does not make public.
extension RunLoop {
  /// An item of a loop's modes: a source, a timer or an observer.
  public typealias Item = Loop.Item
  /// A source that you signal. See CFRunLoopSource.
  public typealias Source = Loop.Source
  /// Calls its handler when a file descriptor is ready. See CFFileDescriptor.
  public typealias DescriptorSource = Loop.DescriptorSource
  /// Calls its handler at chosen moments of each turn. See CFRunLoopObserver.
  public typealias Observer = Loop.Observer
  /// The moments of a turn, with CFRunLoopActivity's raw values.
  public typealias Activity = Loop.Activity

  /// Adds an item to a mode. Any thread. See CFRunLoopAddSource, CFRunLoopAddObserver.
  ///
  /// - Returns: Whether it is a member afterwards: false if it is invalid, in another loop, or the loop has ended.
  @discardableResult
  public func add(_ item: Item, forMode mode: Mode) -> Bool {
    getLoop().add(item, to: Loop.Mode(mode))
  }

  /// Removes an item from a mode. Any thread. See CFRunLoopRemoveSource, CFRunLoopRemoveObserver.
  public func remove(_ item: Item, forMode mode: Mode) {
    getLoop().remove(item, from: Loop.Mode(mode))
  }

  /// Whether an item is in a mode. Any thread. See CFRunLoopContainsSource, CFRunLoopContainsObserver.
  public func contains(_ item: Item, forMode mode: Mode) -> Bool {
    getLoop().contains(item, in: Loop.Mode(mode))
  }

  /// Whether a timer is in a mode. Any thread. See CFRunLoopContainsTimer.
  public func contains(_ timer: Timer, forMode mode: Mode) -> Bool {
    timer.isScheduled(in: getLoop(), forMode: Loop.Mode(mode))
  }

  /// Removes a timer from a mode. Any thread. See CFRunLoopRemoveTimer.
  ///
  /// The timer stays valid, and you may add it again.
  public func remove(_ timer: Timer, forMode mode: Mode) {
    timer.unschedule(from: getLoop(), forMode: Loop.Mode(mode))
  }

  // MARK: - Modes

  /// Makes a mode common permanently. Any thread. See CFRunLoopAddCommonMode.
  public func addCommonMode(_ mode: Mode) {
    getLoop().addCommonMode(Loop.Mode(mode))
  }

  /// The modes that exist, the default mode first. Any thread. See CFRunLoopCopyAllModes.
  public var allModes: [Mode] {
    getLoop().modes.map { Mode($0) }
  }

  /// Whether the loop sleeps at this moment. Any thread. See CFRunLoopIsWaiting.
  public var isWaiting: Bool {
    getLoop().isWaiting
  }
}

extension Foundation.RunLoop.Mode {
  /// The mode for a short, exclusive activity, as a gesture. Common only after `addCommonMode`.
  public static let tracking = RunLoop.Mode(.eventTracking)

  init(_ mode: Loop.Mode) {
    self.init(mode.rawValue)
  }
}

extension Loop.Mode {
  /// Makes the mode of the same name.
  public init(_ mode: RunLoop.Mode) {
    self.init(rawValue: mode.rawValue)
  }
}
