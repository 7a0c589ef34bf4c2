import Glibc
import Rondo
import Synchronization

/// Two connected sockets; the near one is what descriptor sources watch.
final class Channel: Sendable {
  /// Whether the source closes the near end. Then nobody else does.
  let isClosedBySource: Bool
  /// Whether its sources are edge-triggered: those of one descriptor have to agree.
  let isEdge: Bool
  let near: CInt
  private let ends: Guarded<Ends>
  /// While a source is probed, no other source of the descriptor may take the bytes that it is to find.
  let keepsBytes = Atomic<Bool>(false)

  private struct Ends {
    var far: CInt?
    /// Nobody has closed the near end by hand.
    var isNearOpen = true
  }

  init?(isClosedBySource: Bool, isEdge: Bool) {
    var pair: [CInt] = [0, 0]
    guard unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0 else { return nil }
    self.isClosedBySource = isClosedBySource
    self.isEdge = isEdge
    near = pair[0]
    ends = Guarded(Ends(far: pair[1]))
  }

  deinit {
    hangUp()
    close()
  }

  /// Whether both ends are as they were made.
  var isWhole: Bool { ends.withLock { $0.far != nil && $0.isNearOpen } }

  func write() {
    ends.withLock { ends in
      let byte: [UInt8] = [1]
      if let far = ends.far { _ = unsafe send(far, byte, 1, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)) }
    }
  }

  /// Closes the far end.
  func hangUp() {
    ends.withLock { ends in
      if let far = ends.far { _ = Glibc.close(far) }
      ends.far = nil
    }
  }

  /// Closes the near end behind everybody's back, unless its source does.
  func close() {
    guard !isClosedBySource else { return }
    ends.withLock { ends in
      if ends.isNearOpen { _ = Glibc.close(near) }
      ends.isNearOpen = false
    }
  }

  /// Reads what there is.
  ///
  /// - Returns: Whether the far end is gone.
  func drain() -> Bool {
    ends.withLock { ends in
      guard ends.isNearOpen else { return true }
      if keepsBytes.load(ordering: .sequentiallyConsistent) { return false }
      var bytes = [UInt8](repeating: 0, count: 64)
      while true {
        let count = unsafe recv(near, &bytes, bytes.count, CInt(MSG_DONTWAIT))
        if count <= 0 { return count == 0 }
      }
    }
  }
}
