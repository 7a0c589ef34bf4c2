import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTestBridge
import RondoTestSupport
import RondoTesting
import Synchronization

/// The body of a test in a process of its own.
func inOwnProcess(_ body: () -> Void) {
  awakenDispatch()
  unblockSignals()
  body()
}

/// Something a handler gets to know after it was made, or tells.
final class Later<Value>: @unchecked Sendable {
  var value: Value!

  init(_ value: Value? = nil) {
    self.value = value
  }
}

/// What a signal meets at present, as a number: 0 for the default, 1 for ignored, else the handler.
func disposition(of signal: CInt) -> UInt {
  var action = sigaction()
  precondition(unsafe sigaction(signal, nil, &action) == 0)
  return unsafe unsafeBitCast(action.__sigaction_handler, to: UInt.self)
}

/// Has a signal meet another handler.
func setHandler(of signal: CInt, _ handler: @escaping @convention(c) (CInt) -> Void) {
  var action = sigaction()
  unsafe action.__sigaction_handler.sa_handler = handler
  precondition(unsafe sigaction(signal, &action, nil) == 0)
}

/// The loop of `onLoopThread`: with RONDO_BRIDGE in the environment one that serves Foundation's beside it.
func loopUnderTest() -> Loop { loopOfThread() }
