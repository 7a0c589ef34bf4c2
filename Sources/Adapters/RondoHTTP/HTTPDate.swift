#if HTTP
  internal import CRondoDaemon
  internal import Glibc
  internal import Rondo

  /// The field `Date` of a loop's responses. It is made once a second, for the first response in it.
  final class HTTPDate: @unchecked Sendable {
    // Unchecked because of the fields under the lock.

    private let lock = Lock()
    /// *its own lock*
    @safe @exclusivity(unchecked) private var line: [UInt8] = []

    static func of(_ loop: Loop) -> HTTPDate { loop.companion { HTTPDate() } }

    /// The line with its end.
    func line(on loop: Loop) -> [UInt8] {
      lock.lock()
      let present = line
      lock.unlock()
      if !present.isEmpty { return present }
      let now = rondo_clock_now(RONDO_REAL_TIME)
      let made = Self.text(seconds: now / 1_000_000_000)
      lock.withLock { line = made }
      // A server without requests has no timer.
      let timer = Loop.Timer(after: .nanoseconds(1_000_000_000 - now % 1_000_000_000)) { [weak self] _ in
        self?.lock.withLock { self?.line = [] }
      }
      loop.add(timer, to: .common)
      return made
    }

    private static func text(seconds: Int64) -> [UInt8] {
      var (time, parts) = unsafe (time_t(seconds), tm())
      unsafe gmtime_r(&time, &parts)
      let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
      let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
      func two(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
      let (day, month) = unsafe (days[Int(parts.tm_wday)], months[Int(parts.tm_mon)])
      let date = unsafe "\(two(parts.tm_mday)) \(month) \(parts.tm_year + 1900)"
      let clock = unsafe "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
      return Array("date: \(day), \(date) \(clock) GMT\r\n".utf8)
    }
  }
#endif
