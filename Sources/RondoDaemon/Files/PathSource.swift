public import Rondo

/// Calls its handler when the file of a path changes or is replaced. See inotify(7).
///
/// The path need not exist yet. The source follows it by name, through directories that appear and vanish, and through
/// symbolic links that are exchanged. Editors, package managers and Kubernetes' config maps replace files in these
/// ways. Changes between two callouts cause one call. Changed permissions or owners cause none.
///
/// ```swift
/// let configuration = try PathSource(path) { _, change in
///   if change.contains(.replaced) { log.note("read it again") }
/// }
/// loop.add(configuration)
/// ```
public struct PathSource: DaemonSource {
  private let item: Loop.DescriptorSource
  private let watch: PathWatch

  /// The changes since the last callout.
  public struct Change: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// One bit for each change.
    public let rawValue: UInt8
    /// Makes a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The path leads to a file now, and did not before.
    public static let appeared = Change(rawValue: 1)
    /// The path leads to no file now, and did before.
    public static let vanished = Change(rawValue: 2)
    /// The path leads to another file than before.
    public static let replaced = Change(rawValue: 4)
    /// A process has written to the file, or truncated it; more may follow.
    public static let written = Change(rawValue: 8)
    /// A process has closed the file after it had it open for writing.
    public static let finished = Change(rawValue: 16)
    /// The kernel lost events (fs.inotify.max_queued_events). The other changes of the set are true now.
    public static let missed = Change(rawValue: 32)
    /// The kernel refuses to watch the path. The source is invalid; `error` has the cause.
    public static let failed = Change(rawValue: 64)

    /// The names of the changes, separated by `|`.
    public var description: String {
      let names: [(Change, String)] = [
        (.appeared, "appeared"), (.vanished, "vanished"), (.replaced, "replaced"), (.written, "written"),
        (.finished, "finished"), (.missed, "missed"), (.failed, "failed"),
      ]
      return names.filter { contains($0.0) }.map(\.1).joined(separator: "|")
    }
  }

  /// Makes a source for a path, and begins to watch it.
  ///
  /// Costs a descriptor, a watch for each directory of the path, and an inotify instance. Of those a user has 128 on most
  /// systems: fs.inotify.max_user_instances.
  ///
  /// - Parameters:
  ///   - path: A relative path begins in the process's present directory.
  ///   - handler: Called on the loop's thread.
  /// - Throws: `.notFound` if the process's directory was removed, `.notPermitted`, `.exhausted`, `.noMemory`,
  ///   `.tooManyWatches`, `.containsZero`; `.system` for any other errno.
  public init(
    _ path: String, order: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    handler: sending @escaping (PathSource, Change) -> Void
  ) throws(FileError) {
    let watch = try PathWatch(path)
    self.watch = watch
    do {
      item = try Loop.ReportedDescriptorSource(
        watch.inotify.descriptor, for: .read, order: order, fileID: fileID, line: line
      ) { item, _ in
        let change = item.invalidationReason.map(watch.giveUp) ?? watch.takeChange()
        let source = PathSource(item, watch)
        if change.contains(.failed) { source.invalidate() }
        if !change.isEmpty { handler(source, change) }
      }
    } catch {
      throw .exhausted
    }
  }

  private init(_ item: Loop.DescriptorSource, _ watch: PathWatch) {
    self.item = item
    self.watch = watch
  }

  /// The absolute path; its links are not resolved.
  public var path: String { watch.path }

  /// Whether the path led to a file when the source last looked. Any thread.
  public var exists: Bool { watch.exists }

  /// Why the kernel stopped watching the path; nil before `.failed`. Any thread.
  public var error: FileError? { watch.error }

  /// The items of the source: one descriptor source.
  public var items: [Loop.Item] { [item] }
}
