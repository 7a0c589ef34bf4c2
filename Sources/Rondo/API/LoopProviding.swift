/// A type that stands for a loop, such as the `RunLoop` of `RondoFoundation`.
///
/// `RondoCoreFoundation` adds `getCFRunLoop()` to it. So neither module depends on the other.
public protocol LoopProviding {
  /// Returns the loop that this object stands for. Any thread.
  func getLoop() -> Loop
}
