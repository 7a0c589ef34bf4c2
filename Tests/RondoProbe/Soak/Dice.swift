import Glibc
import Rondo

/// One thread's random numbers, SplitMix64, and how deep its callouts are nested. Only its own thread asks it.
final class Dice: RandomNumberGenerator {
  private var state: UInt64
  /// The loop of the thread, if it is a loop's.
  let loop: Loop?
  /// How many operations are under way on the thread, one inside the other.
  var depth = 0
  /// The timeouts of that loop.
  var alarms: [Alarm] = []

  init(seed: UInt64, loop: Loop? = nil) {
    state = seed
    self.loop = loop
  }

  func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from zero to below `count`.
  func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }

  /// True once in `count` times.
  func oneIn(_ count: Int) -> Bool { below(count) == 0 }

  func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

  // MARK: - The calling thread's

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let error = unsafe pthread_key_create(&key) { pointer in
      if let pointer = unsafe pointer { unsafe Unmanaged<Dice>.fromOpaque(pointer).release() }
    }
    precondition(error == 0, "No thread-local slot is left: errno \(error).")
    return key
  }()

  /// Gives the calling thread dice of its own.
  static func give(_ dice: Dice) {
    _ = unsafe pthread_setspecific(key, Unmanaged.passRetained(dice).toOpaque())
  }

  /// The calling thread's dice; nil on a thread of the concurrency runtime.
  static var current: Dice? {
    guard let pointer = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<Dice>.fromOpaque(pointer).takeUnretainedValue()
  }
}
