public import Foundation

/// NSTimer's timers with a target, where a method such as `Sensor.poll` replaces the selector.
///
/// The timer keeps its target until the timer is invalid, as NSTimer does.
extension Timer {
  /// Makes a timer that calls a method of `target` after `ti` seconds, once or repeatedly.
  public convenience init<Target: AnyObject>(
    timeInterval ti: TimeInterval, target: Target, selector: @escaping (Target) -> (Timer) -> Void, userInfo: Any?,
    repeats: Bool
  ) {
    self.init(timeInterval: ti, repeats: repeats, block: Self.block(target, selector))
    setUserInfo(userInfo)
  }

  /// Makes a timer that calls a method of `target` at `date`.
  ///
  /// If it repeats, it calls the method again every `interval` seconds.
  public convenience init<Target: AnyObject>(
    fireAt date: Date, interval: TimeInterval, target: Target, selector: @escaping (Target) -> (Timer) -> Void,
    userInfo: Any?, repeats: Bool
  ) {
    self.init(fire: date, interval: interval, repeats: repeats, block: Self.block(target, selector))
    setUserInfo(userInfo)
  }

  /// Adds a new timer to the default mode of the calling thread's run loop.
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
