internal import CRondo
import Rondo

/// A function of C with its context, which an item's handler captures, and nothing else: that allocates nothing more.
///
/// It dies when the item lets go of its handlers, and the context with it. Sendable because all of it is constant but what
/// `withdraw` sets before the call is shared; the author of the function answers for the rest.
@safe class Call: @unchecked Sendable {
  /// *constant* The item's handle.
  let handle: UInt
  /// *constant*
  let context: UnsafeMutableRawPointer?
  /// *until it is shared*
  private var destroy: rondo_call?

  init(_ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?) throws(rondo_error) {
    handle = try HandleTable.shared.reserve()
    unsafe self.context = unsafe context
    unsafe self.destroy = unsafe destroy
  }

  deinit {
    // First, so that in `destroy` the handle is out of date, unless C has another reference to it.
    HandleTable.shared.unanchor(handle)
    if let destroy = unsafe destroy { unsafe destroy(context) }
  }

  /// The item is made: its handle stands for it from here on.
  ///
  /// - Returns: The handle, with one reference.
  final func publish(_ item: Loop.Item, _ kind: rondo_kind) -> OpaquePointer? {
    HandleTable.shared.publish(handle, item, kind, isAnchored: true, isOwned: true)
    return unsafe pointer
  }

  /// The item could not be made, and the context stays its owner's.
  final func withdraw() { unsafe destroy = nil }

  /// What C is called with.
  @inline(__always)
  final var pointer: OpaquePointer? { unsafe OpaquePointer(bitPattern: handle) }
}

/// A posted function of C. Once it has run, or was dropped, its context is destroyed.
///
/// After a run that is done right away, on the loop's thread: the poster may hold the object for longer.
@safe final class PostedCall: @unchecked Sendable {
  /// *constant*
  private let call: rondo_call
  /// *constant*
  private let context: UnsafeMutableRawPointer?
  /// *until it is shared* Then the run's, and the last reference's.
  @exclusivity(unchecked) private var destroy: rondo_call?

  init(_ call: rondo_call, _ context: UnsafeMutableRawPointer?, _ destroy: rondo_call?) {
    unsafe self.call = unsafe call
    unsafe self.context = unsafe context
    unsafe self.destroy = unsafe destroy
  }

  deinit {
    if let destroy = unsafe destroy { unsafe destroy(context) }
  }

  /// What a loop is given: this object is all that the closure captures, and so is the closure's context.
  ///
  /// Not inlined: where the optimizer sees who takes it, it makes a second object.
  var block: @Sendable () -> Void {
    @inline(never) get { { [self] in run() } }
  }

  /// Calls out.
  private func run() {
    unsafe call(context)
    guard let over = unsafe destroy else { return }
    unsafe destroy = nil
    unsafe over(context)
  }

  /// It was refused, and the context stays its owner's.
  func withdraw() { unsafe destroy = nil }
}
