import CLinux
import Glibc
import Rondo

/// What the bridge takes for granted of Foundation's loop, asked of the one that is there.
enum FoundationDoors {
  /// *constant* Why Foundation's loop cannot be slept in; nil if it can. Asked once, on a thread of its own that ends:
  /// a mode of a CFRunLoop is never removed.
  static let refusal: String? = {
    if rondo_has_foundation_doors() == 0 { return "This Foundation does not say whether a thread has a run loop." }
    let answer = Answer()
    let error = PassingThread.run { answer.ask() }
    if error != 0 { return "No thread could be had to try it out: errno \(error)." }
    return answer.isServed ? nil : "This Foundation does not serve a port that is an epoll set."
  }()

  /// Whether the main thread has a loop of Foundation's, or there is room to make one. Any thread; none is made.
  static var mayHaveMainLoop: Bool {
    rondo_has_foundation_doors() != 0
      && (rondo_has_main_foundation_loop() != 0 || rondo_has_descriptors(descriptorsOfLoop) != 0)
  }

  /// Makes the calling thread's loop, once; nil if that was done before: the thread is dying, and its loop is gone.
  static func makeLoop() -> UnsafeMutableRawPointer? {
    guard rondo_makes_first_foundation_loop() != 0 else { return nil }
    return unsafe Unmanaged.passUnretained(CFRunLoopGetCurrent()).toOpaque()
  }

  /// The epoll set of Foundation's that has `port`, which is in no other; -1 if there is none.
  ///
  /// Foundation has registered it for edges of input and with its number, as asking for it does once more.
  static func portSet(with port: CInt) -> CInt {
    var (soft, hard): (UInt64, UInt64) = (0, 0)
    unsafe rondo_descriptor_limits(&soft, &hard)
    for number in 0..<CInt(clamping: max(soft, 65_536)) {
      let error = rondo_wake(number, port)
      if error == 0 { return number }
      // The kernel has no memory, whatever the number is.
      if error == ENOMEM { break }
    }
    return -1
  }

  /// What `refusal` takes for a moment: a loop with its first mode, and an epoll set with something in it.
  static let descriptorsToAsk: CInt = 8
  /// What a loop takes with its first mode, and one for luck.
  static let descriptorsOfLoop: CInt = 4
  /// What a further mode of a CFRunLoop takes, and one for luck: Foundation ends the process if it cannot have them.
  static let descriptorsOfMode: CInt = 3

  /// Whether Foundation performs a source whose port is an epoll set, though it cannot read it as it reads its others.
  private final class Answer {
    private(set) var isServed = false

    func ask() {
      var (epoll, inside): (CInt, CInt) = (-1, -1)
      guard unsafe rondo_ready_epoll(&epoll, &inside) == 0 else { return }
      defer {
        close(epoll)
        close(inside)
      }
      port = epoll
      var context = unsafe CFRunLoopSourceContext()
      unsafe context.version = 1
      unsafe context.info = Unmanaged.passUnretained(self).toOpaque()
      unsafe context.getPort = { unsafe Unmanaged<Answer>.fromOpaque($0!).takeUnretainedValue().port }
      unsafe context.performOfPort = { unsafe Unmanaged<Answer>.fromOpaque($0!).takeUnretainedValue().isServed = true }
      guard let source = unsafe CFRunLoopSourceCreate(&context) else { return }
      let mode = kCFRunLoopDefaultMode
      CFRunLoopAddSource(CFRunLoopGetCurrent(), source, mode)
      // Asking for its set must not keep it from being served.
      _ = portSet(with: epoll)
      _ = CFRunLoopRunInMode(mode, 0, true)
      CFRunLoopSourceInvalidate(source)
    }

    private var port: CInt = -1
  }
}
