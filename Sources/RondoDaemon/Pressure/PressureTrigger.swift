extension PressureSource {
  /// The pressure to watch for: its file, and the stall that counts.
  public struct Trigger: Hashable, Sendable {
    /// The pressure file of the kernel, or systemd's substitute for it.
    public let path: String
    /// What is written into it.
    let text: [UInt8]
    /// Nil for a trigger that the environment gives.
    let window: Duration?

    init(path: String, text: [UInt8], window: Duration? = nil) {
      self.path = path
      self.text = text
      self.window = window
    }

    /// Makes a trigger for pressure on the whole machine.
    ///
    /// - Parameters:
    ///   - stall: How long tasks must wait in one window: more than zero, at most the window.
    ///   - window: From 0.5 to 10 s. Without the capability CAP_SYS_RESOURCE, a multiple of 2 s.
    /// - Throws: `.outOfRange`.
    public static func system(
      _ resource: Pressure.Resource = .memory, _ kind: Pressure.Kind = .some, of stall: Duration, in window: Duration
    ) throws(PressureError) -> Trigger {
      try Trigger("/proc/pressure/\(resource.rawValue)", kind, stall, window)
    }

    /// Makes a trigger for pressure in a control group of the unified hierarchy. See cgroups(7).
    ///
    /// - Parameters:
    ///   - directory: The group's directory, as `/sys/fs/cgroup/system.slice/my.service`.
    ///   - stall: How long tasks must wait in one window: more than zero, at most the window.
    ///   - window: From 0.5 to 10 s. Without the capability CAP_SYS_RESOURCE, a multiple of 2 s.
    /// - Throws: `.outOfRange`.
    public static func group(
      _ directory: String, _ resource: Pressure.Resource = .memory, _ kind: Pressure.Kind = .some, of stall: Duration,
      in window: Duration
    ) throws(PressureError) -> Trigger {
      let slash = directory.hasSuffix("/") ? "" : "/"
      return try Trigger("\(directory)\(slash)\(resource.rawValue).pressure", kind, stall, window)
    }

    /// Returns the trigger that systemd sets for this service. Any thread.
    ///
    /// See MemoryPressureWatch= of systemd.resource-control(5).
    ///
    /// - Parameter environment: The variables to read; nil for the process's own.
    /// - Returns: Nil without systemd, or if systemd sets none.
    /// - Throws: `.malformed`.
    public static func service(environment: [String: String]? = nil) throws(PressureError) -> Trigger? {
      let environment = environment ?? ServiceEnvironment.own
      guard let path = environment["MEMORY_PRESSURE_WATCH"], path != "/dev/null" else { return nil }
      guard path.hasPrefix("/"), !path.utf8.contains(0) else {
        throw .malformed(variable: "MEMORY_PRESSURE_WATCH", value: path)
      }
      let written = environment["MEMORY_PRESSURE_WRITE"] ?? ""
      guard let text = decodeBase64(written) else {
        throw .malformed(variable: "MEMORY_PRESSURE_WRITE", value: written)
      }
      return Trigger(path: path, text: text)
    }

    private init(
      _ path: String, _ kind: Pressure.Kind, _ stall: Duration, _ window: Duration
    ) throws(PressureError) {
      guard .milliseconds(500) <= window, window <= .seconds(10), .microseconds(1) <= stall, stall <= window else {
        throw .outOfRange(stall: stall, window: window)
      }
      let text = "\(kind.rawValue) \(Self.microseconds(stall)) \(Self.microseconds(window))"
      self.init(path: path, text: Array(text.utf8) + [0], window: window)
    }

    private static func microseconds(_ duration: Duration) -> Int64 {
      duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
    }

    /// What base64 of RFC 4648 stands for; nil for anything else.
    static func decodeBase64(_ text: String) -> [UInt8]? {
      let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
      let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }
      let padding = text.utf8.count - digits.count
      guard text.utf8.count % 4 == 0, padding <= 2, text.utf8.suffix(padding).allSatisfy({ $0 == UInt8(ascii: "=") })
      else { return nil }
      var bytes: [UInt8] = []
      var (bits, count): (UInt32, UInt32) = (0, 0)
      for digit in digits {
        guard let value = alphabet.firstIndex(of: digit) else { return nil }
        bits = bits << 6 | UInt32(value)
        count += 6
        guard count >= 8 else { continue }
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
      return bits & (1 << count - 1) == 0 ? bytes : nil
    }
  }
}
