import Foundation
import Rondo

extension RunLoop {
  /// Has a port's messages handled in a mode; a second time changes nothing. Any thread. See NSRunLoop's addPort.
  public func add(_ aPort: Port, forMode mode: Mode) {
    guard aPort.inbox.enter(getLoop(), Loop.Mode(mode)) else { return }
    aPort.schedule(in: self, forMode: mode)
  }

  /// Has a port's messages no longer handled in a mode: they wait. Any thread. See NSRunLoop's removePort.
  public func remove(_ aPort: Port, forMode mode: Mode) {
    guard aPort.inbox.exit(getLoop(), Loop.Mode(mode)) else { return }
    aPort.remove(from: self, forMode: mode)
  }
}
