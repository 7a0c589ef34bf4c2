public import Rondo

/// Calls its handler when tasks wait too long for memory, processors or disks.
///
/// Free caches then. The kernel watches, and reports at most once a window. The source does not poll. See the kernel's
/// psi.rst.
///
/// ```swift
/// do {
///   let trigger = try PressureSource.Trigger.service() ?? .system(of: .milliseconds(150), in: .seconds(2))
///   let pressure = try PressureSource(trigger) { _, event in
///     if case .stalled = event { log.note("let go of caches") }
///   }
///   loop.add(pressure)
/// } catch {
///   log.note("not told of pressure: \(error)")
/// }
/// ```
///
/// The kernel reports each stall to the first epoll set that asks. Add the source to a loop that runs by itself: in an
/// embedded loop, the host's wait takes the report, and so does Foundation's loop on the same thread. A stall is lost
/// while the source is in no loop.
public struct PressureSource: DaemonSource {
  private let item: Loop.DescriptorSource
  private let watch: PressureWatch

  /// An event of a pressure source.
  public enum Event: Hashable, Sendable {
    /// Tasks waited longer than the trigger allows. The value is the present pressure, if it can be read.
    case stalled(Pressure?)
    /// The watched group was removed. The source is invalid.
    case gone
    /// The kernel refuses to watch the pressure, with this errno. The source is invalid.
    case failed(errno: CInt)
  }

  /// Makes a source for `trigger`, which the kernel watches from then on. Costs two descriptors.
  ///
  /// - Parameter handler: Called on the loop's thread.
  /// - Throws: `.unavailable` if the kernel does not report this pressure, `.notPermitted`, `.windowNotPermitted`,
  ///   `.exhausted`, `.noMemory`, `.notPressure`; `.system` for any other errno.
  public init(
    _ trigger: Trigger, order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    handler: sending @escaping (PressureSource, Event) -> Void
  ) throws(PressureError) {
    let watch = try PressureWatch(trigger)
    self.watch = watch
    do {
      // The kernel tells once: a poll takes what it tells.
      let edge: Loop.DescriptorSource.Trigger = watch.isKernel ? .edge : .level
      item = try Loop.ReportedDescriptorSource(
        watch.descriptor, for: .read, trigger: edge, order: order, fileID: fileID, line: line
      ) { item, _ in
        if let reason = item.invalidationReason {
          return handler(PressureSource(item, watch), .failed(errno: reason.errno))
        }
        guard let event = watch.take() else { return }
        let source = PressureSource(item, watch)
        if event == .gone { source.invalidate() }
        handler(source, event)
      }
    } catch {
      throw .exhausted
    }
  }

  private init(_ item: Loop.DescriptorSource, _ watch: PressureWatch) {
    self.item = item
    self.watch = watch
  }

  /// The pressure that the source watches for.
  public var trigger: Trigger { watch.trigger }

  /// The present pressure; nil if it cannot be read. Any thread. Costs one pread(2).
  public var pressure: Pressure? { watch.pressure }

  /// The items of the source: one descriptor source.
  public var items: [Loop.Item] { [item] }
}
