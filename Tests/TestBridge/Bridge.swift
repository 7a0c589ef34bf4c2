import CoreFoundation
import Glibc
public import Rondo
import RondoFoundation

/// The thread's loop, for a test. With RONDO_BRIDGE in the environment it serves one of Foundation's beside it, and sleeps
/// in that one's wait: so every test of a real loop is one of the bridge.
public func loopOfThread() -> Loop {
  if isBridged {
    _ = CFRunLoopGetCurrent()
    let status = RondoFoundation.RunLoop.current.foundationStatus
    precondition(status == .serving, "The loop is to serve Foundation's: \(status)")
  }
  return .current
}

/// Whether loops of tests have one of Foundation's beside them.
public let isBridged = unsafe getenv("RONDO_BRIDGE") != nil
