import Foundation
import Rondo

extension RunLoop {
  /// Adds a port to a mode. A second call changes nothing. Any thread.
  ///
  /// See NSRunLoop's addPort:forMode:.
  public func add(_ aPort: Port, forMode mode: Mode) {
    guard aPort.inbox.enter(getLoop(), Loop.Mode(mode)) else { return }
    aPort.schedule(in: self, forMode: mode)
  }

  /// Removes a port from a mode. Its messages wait. Any thread.
  ///
  /// See NSRunLoop's removePort:forMode:.
  public func remove(_ aPort: Port, forMode mode: Mode) {
    guard aPort.inbox.exit(getLoop(), Loop.Mode(mode)) else { return }
    aPort.remove(from: self, forMode: mode)
  }
}
