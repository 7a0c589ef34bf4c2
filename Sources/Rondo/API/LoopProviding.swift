/// A type whose objects are another view of a loop, such as `RunLoop` of `RondoFoundation`.
///
/// `RondoCoreFoundation` extends it by `getCFRunLoop()`. So neither of the two modules depends on the other.
public protocol LoopProviding {
  /// Returns the loop. Any thread.
  func getLoop() -> Loop
}
