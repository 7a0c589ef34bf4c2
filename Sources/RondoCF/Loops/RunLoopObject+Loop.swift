package import Rondo

/// The CFRunLoop of a loop, to a caller that is to release it. Any thread. A loop that has ended gets one of its own.
///
/// RondoCoreFoundation calls it by the name of its symbol. To import this module, it would have to see the header as the
/// implementation does, too.
@_silgen_name("RondoCFRunLoopCopyOfLoop")
package func copyRunLoop(of loop: Loop) -> UnsafeMutableRawPointer {
  unsafe RunLoopObject.of(loop).owned
}
