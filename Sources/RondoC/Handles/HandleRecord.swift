internal import CRondo
import Synchronization

/// What stands behind a handle: which object, of which kind, and how many references C has to it.
///
/// Records are never given back, so a handle that is out of date finds one that says so.
@safe struct HandleRecord: ~Copyable {
  /// *atomic* A `State`.
  let state = Atomic<UInt64>(State.unused.bits)
  /// *atomic* The free record after this one, plus one; 0 for none.
  let nextFree = Atomic<UInt32>(0)
  /// *constant while it is live* What the process's word said when the handle was made.
  var process: UInt32 = 0
  /// *constant while it is live*
  var kind = rondo_kind(rawValue: 0)
  /// *constant while it is live* Kept by the record while there is a reference.
  var object: Unmanaged<AnyObject>?

  /// The handle's generation, anchor and reference count, in one word.
  struct State: Equatable {
    let bits: UInt64

    private static let anchor: UInt64 = 1 << 31
    private static let countMask: UInt64 = anchor - 1

    /// Before a record's first handle. No handle has generation 0.
    static let unused = State(bits: 0)

    @inline(__always)
    init(bits: UInt64) { self.bits = bits }

    @inline(__always)
    init(generation: UInt32, isAnchored: Bool, count: UInt64) {
      bits = UInt64(generation) << 32 | (isAnchored ? Self.anchor : 0) | count
    }

    /// How many handles the record has had, this one included.
    @inline(__always)
    var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }

    /// Whether the library may still call with the handle: the item has its function, the loop its thread.
    var isAnchored: Bool { bits & Self.anchor != 0 }

    /// References that C has.
    var count: UInt64 { bits & Self.countMask }

    /// The state with another count; nil where it would be none.
    func with(count: UInt64) -> State? {
      count > Self.countMask ? nil : State(generation: generation, isAnchored: isAnchored, count: count)
    }

    var withoutAnchor: State { State(generation: generation, isAnchored: false, count: count) }

    /// The handle is not in use: what is handed out next is another handle.
    var isOver: Bool { !isAnchored && count == 0 }

    /// Of the record's next handle, which was not handed out yet.
    var next: State {
      State(generation: generation == .max ? 1 : generation + 1, isAnchored: false, count: 0)
    }
  }
}
