/// Another run loop of the same thread, which an upper floor knows: in its wait this loop sleeps. *loop thread*
///
/// It sleeps for both. While it does so, or runs for itself, it asks the `Loop` for what is in `Loop+Foreign.swift`.
package protocol ForeignLoop: AnyObject {
  /// Whether there is such a loop by now, and the mode of that name can be slept in. Asked before each wait.
  func isPresent(in mode: Loop.Mode) -> Bool

  /// Sleeps in the mode of that name, or returns at once if either loop has something to do. Calls out.
  ///
  /// - Returns: Whether the other loop has handled a source.
  func sleep(in mode: Loop.Mode) -> Bool

  /// Serves what is ready in the other loop's mode of that name, without sleeping. Calls out.
  ///
  /// - Returns: Whether the other loop has handled a source.
  func look(in mode: Loop.Mode) -> Bool

  /// Whether the other loop has nothing to wait for in the mode of that name.
  func isEmpty(_ mode: Loop.Mode) -> Bool

  /// An epoll set of this loop's is about to be closed.
  func forget(_ epoll: CInt)

  /// This loop ends.
  func end()
}
