import CBench
import Foundation
import Synchronization

/// Connected sockets for the descriptor workloads, made once: making 18,000 takes longer than a round.
///
/// Sendable because it is constant once made, and one subject at a time uses the sockets.
final class SocketPairs: @unchecked Sendable {
  /// Two for each pair: the end that is watched, the end that is written.
  let descriptors: UnsafeMutablePointer<CInt>

  private init(_ descriptors: UnsafeMutablePointer<CInt>) {
    self.descriptors = descriptors
  }

  func watched(_ index: Int) -> CInt { descriptors[2 * index] }

  /// Why this machine cannot have as many; nil when it can.
  static func obstacle(_ count: Int) -> String? {
    let needed = 2 * count + spare
    let limit = Int(bench_descriptor_limit())
    return limit < needed ? "needs \(needed) descriptors, and the limit is \(limit) (ulimit -n)" : nil
  }

  /// At least so many pairs; the same ones for everybody.
  static func shared(_ count: Int) throws(Refusal) -> SocketPairs {
    let outcome = made.withLock { state -> Result<SocketPairs, Refusal> in
      if let pairs = state.pairs, state.count >= count { return .success(pairs) }
      _ = bench_descriptor_limit()
      let descriptors = UnsafeMutablePointer<CInt>.allocate(capacity: 2 * count)
      // Those made before stay what they are.
      if let old = state.pairs { descriptors.update(from: old.descriptors, count: 2 * state.count) }
      for index in state.count..<count {
        guard bench_socket_pair(descriptors + 2 * index) else {
          return .failure(.failed("could not make \(count) socket pairs: errno \(errno)"))
        }
        state.count = index + 1
      }
      let pairs = SocketPairs(descriptors)
      state.pairs = pairs
      return .success(pairs)
    }
    return try outcome.get()
  }

  /// Closes them all, for a workload that needs the descriptors itself.
  static func close() {
    made.withLock { state in
      guard let pairs = state.pairs else { return }
      for index in 0..<(2 * state.count) { Foundation.close(pairs.descriptors[index]) }
      pairs.descriptors.deallocate()
      state = (nil, 0)
    }
  }

  /// For the loops themselves and the harness.
  private static let spare = 200

  private static let made = Mutex<(pairs: SocketPairs?, count: Int)>((nil, 0))
}
