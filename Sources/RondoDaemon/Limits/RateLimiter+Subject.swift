import Rondo
import RondoSockets

extension RateLimiter {
  /// What can be put to rest.
  enum Subject {
    case descriptor(Loop.DescriptorSource)
    case socket(SocketSource)
    case source(Loop.Source)

    /// What stands in the loop for it.
    private var item: Loop.Item? {
      switch self {
      case .descriptor(let source): source
      case .socket(let source): source.loopItem
      case .source(let source): source
      }
    }

    /// Which one it is.
    var object: AnyObject {
      switch self {
      case .descriptor(let source): source
      case .socket(let source): source
      case .source(let source): source
      }
    }

    var isValid: Bool {
      switch self {
      case .descriptor(let source): source.isValid
      case .socket(let source): source.isValid
      case .source(let source): source.isValid
      }
    }

    /// Where it is called: the common modes by that name, if it is common.
    func modes(in loop: Loop) -> [Loop.Mode] {
      guard let item else { return [.common] }
      let modes = ([.common] + loop.modes).filter { loop.contains(item, in: $0) }
      return modes.isEmpty ? [.common] : modes
    }

    /// Has it called no more.
    ///
    /// - Parameter isAgain: Whether it was called in spite of its rest.
    /// - Returns: What it would be called for.
    func lay(isAgain: Bool) -> UInt8 {
      switch self {
      case .descriptor(let source):
        let enabled = source.enabled
        source.disable(enabled)
        return enabled.rawValue
      case .socket(let source):
        let enabled = source.enabled.intersection([.accept, .data, .read])
        source.disable(enabled)
        return enabled.rawValue
      // It is left out, and owed.
      case .source: return isAgain ? 1 : 0
      }
    }

    /// Has it called again for what was taken.
    func raise(_ taken: UInt8) {
      if taken == 0 { return }
      switch self {
      case .descriptor(let source): source.enable(.init(rawValue: taken))
      case .socket(let source): source.enable(.init(rawValue: taken))
      case .source(let source): source.signal()
      }
    }
  }
}
