#if Log
  internal import Glibc
  public import Logging
  public import Rondo

  /// Writes swift-log's messages to a ``LogSink``, one line each, without waiting.
  ///
  /// The handler escapes characters that end a line or control a terminal, so that data of a peer cannot forge a line.
  ///
  /// ```swift
  /// let sink = try LogSink()
  /// LoggingSystem.bootstrap { LoopLogHandler(label: $0, to: sink) }
  /// ```
  public struct LoopLogHandler: LogHandler {
    /// The values that each line of this handler has.
    public var metadata: Logger.Metadata = [:]
    /// Returns the values of the task that logs.
    public var metadataProvider: Logger.MetadataProvider?
    /// The lowest level that the logger passes on.
    public var logLevel = Logger.Level.info
    private let label: String
    private let sink: LogSink
    private let style: Style

    /// The beginning of a line.
    public enum Style: Hashable, Sendable {
      /// The time in UTC, and the level's name.
      case dated
      /// The level as systemd's journal reads it, without a time. See sd-daemon(3).
      case journal
    }

    /// Makes a handler for one logger, which writes to `sink`.
    public init(
      label: String, to sink: LogSink, style: Style = .dated, metadataProvider: Logger.MetadataProvider? = nil
    ) {
      self.label = label
      self.sink = sink
      self.style = style
      self.metadataProvider = metadataProvider
    }

    /// A value of ``metadata``.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    /// Queues a message as a line of the sink. Any thread.
    public func log(event: LogEvent) {
      sink.write(line(for: event))
    }

    /// The line of an event, its end included.
    func line(for event: LogEvent) -> [UInt8] {
      var all = metadata
      all.merge(metadataProvider?.get() ?? [:]) { $1 }
      all.merge(event.metadata ?? [:]) { $1 }
      if let error = event.error { all["error"] = all["error"] ?? "\(error)" }
      let beginning =
        switch style {
        case .dated: "\(Self.date()) \(event.level) "
        case .journal: "<\(event.level.priority)>"
        }
      var line = Array(beginning.utf8)
      Self.append("\(label):", to: &line)
      for (key, value) in all.sorted(by: { $0.key < $1.key }) { Self.append(" \(key)=\(value)", to: &line) }
      Self.append(" [\(event.source)] \(event.message)", to: &line)
      line.append(UInt8(ascii: "\n"))
      return line
    }

    /// What ends a line, commands a terminal or turns the text around is written as in a literal of Swift.
    private static func append(_ text: String, to line: inout [UInt8]) {
      for scalar in text.unicodeScalars {
        switch scalar {
        case "\n": line += Array(#"\n"#.utf8)
        case " "..."~": line.append(UInt8(ascii: scalar))
        case _ where isCommand(scalar): line += Array(#"\u{\#(String(scalar.value, radix: 16))}"#.utf8)
        default: line += Array(UTF8.encode(scalar)!)
        }
      }
    }

    /// Emoji and some scripts need the two joiners, which do nothing else.
    private static func isCommand(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: true
      case .format: scalar != "\u{200c}" && scalar != "\u{200d}"
      default: false
      }
    }

    /// 2026-01-31T23:59:59.123Z
    private static func date() -> String {
      var now = timespec()
      unsafe clock_gettime(CLOCK_REALTIME, &now)
      var parts = unsafe tm()
      unsafe gmtime_r(&now.tv_sec, &parts)
      let date = unsafe (parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday)
      let time = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
      func padded(_ number: CInt, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
      }
      return "\(padded(date.0, 4))-\(padded(date.1, 2))-\(padded(date.2, 2))"
        + "T\(padded(time.0, 2)):\(padded(time.1, 2)):\(padded(time.2, 2)).\(padded(CInt(now.tv_nsec / 1_000_000), 3))Z"
    }
  }

  extension Logger.Level {
    /// syslog(3)'s.
    fileprivate var priority: Int {
      switch self {
      case .trace, .debug: 7
      case .info: 6
      case .notice: 5
      case .warning: 4
      case .error: 3
      case .critical: 2
      }
    }
  }

  extension Loop {
    /// Passes the library's messages to a logger, as warnings. Any thread.
    ///
    /// The handler of the logger may not wait, as ``LoopLogHandler`` does not.
    public static func logMessages(to logger: Logger) { setMessageHandler { logger.warning("\($0)") } }
  }
#endif
