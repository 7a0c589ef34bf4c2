internal import CRondo
import Rondo

/// The handle of a loop, which lasts as long as the loop's thread, or longer where C has a reference.
final class LoopHandle: Sendable {
  /// *constant* Nil if there was no room for it.
  private let handle: UInt?

  private init(_ loop: Loop) {
    handle = try? HandleTable.shared.reserve()
    // The loop has this object, so the handle must not keep the loop.
    if let handle { HandleTable.shared.publish(handle, loop, RONDO_LOOP, isAnchored: true, isOwned: false) }
  }

  deinit {
    if let handle { HandleTable.shared.unanchor(handle) }
  }

  /// The handle of a loop, made on first use. Any thread.
  static func handle(of loop: Loop) throws(rondo_error) -> OpaquePointer {
    guard let handle = loop.companion({ LoopHandle(loop) }).handle else { throw RONDO_ERROR_MEMORY }
    guard let pointer = unsafe OpaquePointer(bitPattern: handle) else { throw RONDO_ERROR_HANDLE }
    return unsafe pointer
  }
}
