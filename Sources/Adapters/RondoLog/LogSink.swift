#if Log
  internal import CLinux
  internal import Glibc
  public import Rondo
  internal import RondoSockets

  /// Writes lines to a descriptor from a separate thread, so that no loop blocks.
  ///
  /// A write copies the line into a bounded buffer, and never waits for a disk, a terminal or a full pipe. The sink
  /// drops and counts a line that does not fit. It logs the count when there is room again. Any thread.
  public final class LogSink: Sendable {
    /// *constant*
    private let buffer: LogBuffer
    /// *constant* Writes, and may be held up by a slow reader.
    private let thread: LoopThread
    /// *constant* Signalled when there is something to write.
    private let source: Loop.Source

    /// Makes a sink and starts its thread, whose loop takes three descriptors.
    ///
    /// At exit(3) or a return from main, the sinks write their buffers, one after the other, each for up to a second. It also writes its buffer when
    /// you release its last reference.
    ///
    /// - Parameters:
    ///   - descriptor: A blocking or non-blocking descriptor; 2 is the standard error. Keep it open; the sink does not
    ///     close it.
    ///   - limit: The most bytes that may wait. The thread may be writing as many more.
    /// - Throws: `.noThread`, `.noDescriptors`.
    public init(
      descriptor: CInt = 2, limit: Int = 1024 * 1024
    ) throws(LoopThread.StartError) {
      require(limit > 0, "A sink needs room for a line. Give it a limit of some kilobytes at least.")
      let buffer = LogBuffer(descriptor, limit)
      self.buffer = buffer
      thread = try LoopThread(name: "log")
      source = Loop.Source { buffer.drain() }
      thread.execute { LogBuffer.blockPipeSignal() }
      thread.loop.add(source)
      _ = Self.exitHook
      Self.sinks.withLock { sinks in
        sinks.removeAll { $0.sink == nil }
        sinks.append(Weak(sink: self))
      }
    }

    deinit {
      // The thread finishes what it was given.
      let buffer = buffer
      thread.execute { buffer.drain() }
    }

    /// Queues a line, which includes its newline. Drops the line if the buffer is full.
    public func write(_ line: String) {
      write(Array(line.utf8))
    }

    func write(_ line: [UInt8]) {
      buffer.append(line)
      source.signal()
    }

    /// The number of dropped lines: the buffer was full, or write(2) failed.
    public var droppedLineCount: Int { buffer.dropped }

    /// Waits until the descriptor has taken the lines queued before. Blocks the thread.
    ///
    /// - Returns: False if that took longer than `timeout`, or if no descriptors were left to wait with.
    @available(*, noasync, message: "It blocks the thread. Call it where the program ends.")
    @discardableResult
    public func flush(timeout: Duration = .seconds(1)) -> Bool {
      if thread.isCurrent {
        buffer.drain()
        return true
      }
      guard let (reader, writer) = try? Socket.pair() else { return false }
      let isAccepted = thread.execute { [buffer] in
        buffer.drain()
        try? writer.finishWriting()
      }
      // Readable at the end of what the writer sends.
      return isAccepted && rondo_poll_two(reader.descriptor, CInt(POLLIN), -1, timeout.pollMilliseconds) > 0
    }

    // MARK: - The end of the process

    private struct Weak {
      weak var sink: LogSink?
    }

    private static let sinks = PerProcess<[Weak]>([])

    private static let exitHook: CInt = atexit {
      // A forked child without a sink may find a lock of the Swift runtime held by a thread that it does not have.
      guard LogSink.sinks.isOwn else { return }
      for sink in LogSink.sinks.withLock({ $0.compactMap(\.sink) }) { sink.flush(timeout: .seconds(1)) }
    }
  }

  /// Lines that wait to be written. Any thread; drained by one.
  final class LogBuffer: Sendable {
    /// *constant*
    private let descriptor: CInt
    /// *constant*
    private let limit: Int
    /// *its lock*
    private let state = Guarded(State())

    private struct State {
      var bytes: [UInt8] = []
      /// All that were dropped, and those of them that were not reported yet.
      var dropped = 0
      var untold = 0
    }

    init(_ descriptor: CInt, _ limit: Int) {
      self.descriptor = descriptor
      self.limit = limit
    }

    var dropped: Int { state.withLock { $0.dropped } }

    /// Drops the line if there is no room for it.
    func append(_ line: [UInt8]) {
      state.withLock { state in
        if state.bytes.count + line.count <= limit {
          state.bytes += line
        } else {
          state.dropped += 1
          state.untold += 1
        }
      }
    }

    /// Writes what there is. The sink's thread; may block without limit.
    func drain() {
      while true {
        let (bytes, untold) = state.withLock { state in
          defer { (state.bytes, state.untold) = ([], 0) }
          return (state.bytes, state.untold)
        }
        if bytes.isEmpty && untold == 0 { return }
        write(bytes)
        // They came when the buffer was full of what has been written now.
        if untold > 0 { write(Array("Rondo: \(untold) lines of the log were dropped, for want of room\n".utf8)) }
      }
    }

    private func write(_ bytes: [UInt8]) {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
          _ = rondo_poll_two(descriptor, CInt(POLLOUT), -1, -1)
        } else if errno != EINTR {
          // The reader is gone, or the disk is full: these lines are lost, and those after them may not be.
          let lost = rest.count { $0 == UInt8(ascii: "\n") }
          return state.withLock { $0.dropped += lost }
        }
      }
    }

    /// A reader that has gone is an error of write(2), and no end of the process.
    static func blockPipeSignal() {
      var signals = sigset_t()
      unsafe sigemptyset(&signals)
      unsafe sigaddset(&signals, SIGPIPE)
      unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
  }
#endif
