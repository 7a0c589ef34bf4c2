public import CRondoCF
public import Rondo

extension LoopProviding {
  /// Returns the CFRunLoop of the same loop, for example of a `RunLoop`. Any thread.
  ///
  /// Both names mean one loop: an item that you add by either is in it, and a run by either serves it. On the loop's own
  /// thread, `CFRunLoopGetCurrent()` returns the same object. After the thread has ended, the object does nothing.
  public func getCFRunLoop() -> CFRunLoop {
    unsafe Unmanaged<CFRunLoop>.fromOpaque(copyRunLoop(of: getLoop())).takeRetainedValue()
  }
}

/// RondoCF's. The caller releases it.
@_silgen_name("RondoCFRunLoopCopyOfLoop")
private func copyRunLoop(of loop: Loop) -> UnsafeMutableRawPointer
