public import Foundation
public import Rondo

/// Sources, descriptor sources and observers, which Foundation on Linux keeps to itself.
extension RunLoop {
  /// What a loop's modes hold. See CFRunLoopSource, CFRunLoopObserver.
  public typealias Item = Loop.Item
  /// A source signalled by hand. See CFRunLoopSource.
  public typealias Source = Loop.Source
  /// Tells when a file descriptor is ready. See CFFileDescriptor.
  public typealias DescriptorSource = Loop.DescriptorSource
  /// Is called at the moments of a turn it asks for. See CFRunLoopObserver.
  public typealias Observer = Loop.Observer
  /// The moments of a turn, with CFRunLoopActivity's raw values.
  public typealias Activity = Loop.Activity

  /// Adds an item to a mode. Any thread. See CFRunLoopAddSource, CFRunLoopAddObserver.
  ///
  /// - Returns: Whether it is a member afterwards: false if it is invalid, in another loop, or the loop is gone.
  @discardableResult
  public func add(_ item: Item, forMode mode: Mode) -> Bool {
    getLoop().add(item, to: Loop.Mode(mode))
  }

  /// Takes an item out of a mode. Any thread. See CFRunLoopRemoveSource, CFRunLoopRemoveObserver.
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

  /// Takes a timer out of a mode; it stays valid, and may be added again. Any thread. See CFRunLoopRemoveTimer.
  public func remove(_ timer: Timer, forMode mode: Mode) {
    timer.unschedule(from: getLoop(), forMode: Loop.Mode(mode))
  }

  // MARK: - Modes

  /// Makes a mode common for good. Any thread. See CFRunLoopAddCommonMode.
  public func addCommonMode(_ mode: Mode) {
    getLoop().addCommonMode(Loop.Mode(mode))
  }

  /// Every mode that something was added to. Any thread. See CFRunLoopCopyAllModes.
  public var allModes: [Mode] {
    getLoop().modes.map { Mode($0) }
  }

  /// Whether the loop sleeps at this moment. Any thread. See CFRunLoopIsWaiting.
  public var isWaiting: Bool {
    getLoop().isWaiting
  }
}

extension Foundation.RunLoop.Mode {
  /// The mode for tracking a gesture or another short, exclusive activity. Common only after `addCommonMode`.
  public static let tracking = RunLoop.Mode(.eventTracking)

  init(_ mode: Loop.Mode) {
    self.init(mode.rawValue)
  }
}

extension Loop.Mode {
  /// The mode of that name.
  public init(_ mode: RunLoop.Mode) {
    self.init(rawValue: mode.rawValue)
  }
}
