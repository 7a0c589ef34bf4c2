public import Rondo

/// Tells when tasks wait too long for memory, processors or disks. It is time to let go of caches then. See the
/// kernel's psi.rst.
///
/// The kernel watches, and says so at most once a window. Nothing is asked again and again meanwhile.
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
/// The kernel's word is for the first who asks: it comes while the source is in a loop that waits by itself. A host that
/// waits for an embedded loop's descriptor takes it from the loop, as Foundation's loop of the thread does if there is one,
/// and so do moments in which the source is in no loop.
public struct PressureSource: DaemonSource {
  private let item: Loop.DescriptorSource
  private let watch: PressureWatch

  /// What the handler is told.
  public enum Event: Hashable, Sendable {
    /// Tasks have waited for longer than the trigger says. It comes with what is true now, where that can be read.
    case stalled(Pressure?)
    /// The group that was watched has gone: the source is invalid.
    case gone
    /// The kernel refuses to watch it, with this errno: the source is invalid.
    case failed(errno: CInt)
  }

  /// A source for what `trigger` says, which the kernel watches from now on. Costs two descriptors.
  ///
  /// - Parameter handler: Called on the loop's thread.
  /// - Throws: `.unavailable` where the kernel has no such thing, `.notPermitted`, `.windowNotPermitted`, `.exhausted`,
  ///   `.noMemory`.
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

  /// What it watches for.
  public var trigger: Trigger { watch.trigger }

  /// What is true now; nil where it cannot be read. Any thread. Costs one pread(2).
  public var pressure: Pressure? { watch.pressure }

  public var items: [Loop.Item] { [item] }
}
