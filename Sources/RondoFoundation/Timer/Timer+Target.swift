public import Foundation

/// The target-and-action variants of Apple's NSTimer, with a method of the target in place of a selector: `Sensor.poll`.
///
/// The timer keeps its target until it is invalid, as there.
extension Timer {
  /// A timer that calls `selector` of `target` after `ti` seconds. And again as often, if it repeats.
  public convenience init<Target: AnyObject>(
    timeInterval ti: TimeInterval, target: Target, selector: @escaping (Target) -> (Timer) -> Void, userInfo: Any?,
    repeats: Bool
  ) {
    self.init(timeInterval: ti, repeats: repeats, block: Self.block(target, selector))
    setUserInfo(userInfo)
  }

  /// A timer that calls `selector` of `target` at `date`. And every `interval` seconds from there, if it repeats.
  public convenience init<Target: AnyObject>(
    fireAt date: Date, interval: TimeInterval, target: Target, selector: @escaping (Target) -> (Timer) -> Void,
    userInfo: Any?, repeats: Bool
  ) {
    self.init(fire: date, interval: interval, repeats: repeats, block: Self.block(target, selector))
    setUserInfo(userInfo)
  }

  /// A timer that calls `selector` of `target`, in the calling thread's run loop. In the default mode.
  @available(*, noasync, message: "An async function has no run loop. Make the timer and add it to the one you mean.")
  @discardableResult
  public class func scheduledTimer<Target: AnyObject>(
    timeInterval ti: TimeInterval, target: Target, selector: @escaping (Target) -> (Timer) -> Void, userInfo: Any?,
    repeats: Bool
  ) -> Timer {
    let timer = Timer(timeInterval: ti, target: target, selector: selector, userInfo: userInfo, repeats: repeats)
    RunLoop.current.add(timer, forMode: .default)
    return timer
  }

  /// The target is used on the thread of the timer's loop, and so is the method, as on Apple's platforms.
  private class func block<Target: AnyObject>(
    _ target: Target, _ selector: @escaping (Target) -> (Timer) -> Void
  ) -> Block {
    nonisolated(unsafe) let (target, selector) = (target, selector)
    return { timer in unsafe selector(target)(timer) }
  }
}
