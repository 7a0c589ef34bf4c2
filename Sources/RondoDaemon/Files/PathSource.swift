public import Rondo

/// Tells when what a path leads to changes, whoever replaces it and however. See inotify(7).
///
/// The path need not lead anywhere yet. It is followed by name: through directories that come and go, and through
/// symbolic links that are exchanged, as editors, package managers and Kubernetes' config maps replace files. What
/// happens between two callouts is told as one.
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

  /// What has changed since the last callout, as far as it matters now.
  public struct Change: OptionSet, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The path leads to a file now, and did not.
    public static let appeared = Change(rawValue: 1)
    /// The path leads nowhere any more.
    public static let vanished = Change(rawValue: 2)
    /// It leads to another file than before.
    public static let replaced = Change(rawValue: 4)
    /// Somebody has written to the file, or cut it; more may follow.
    public static let written = Change(rawValue: 8)
    /// Somebody who could write has closed the file.
    public static let finished = Change(rawValue: 16)
    /// The kernel had no room for all that happened (fs.inotify.max_queued_events). Beside it, what is true now.
    public static let missed = Change(rawValue: 32)
    /// The kernel refuses to watch the path: the source is invalid. `error` says why.
    public static let failed = Change(rawValue: 64)

    public var description: String {
      let names: [(Change, String)] = [
        (.appeared, "appeared"), (.vanished, "vanished"), (.replaced, "replaced"), (.written, "written"),
        (.finished, "finished"), (.missed, "missed"), (.failed, "failed"),
      ]
      return names.filter { contains($0.0) }.map(\.1).joined(separator: "|")
    }
  }

  /// A source for a path, which it watches from now on. Costs a descriptor, and a watch for each directory on the way.
  ///
  /// - Parameters:
  ///   - path: A relative one begins in the directory that is the process's now.
  ///   - handler: Called on the loop's thread.
  /// - Throws: `.notPermitted`, `.exhausted`, `.tooManyWatches`, `.containsZero`.
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

  /// The path, absolute, as it was given.
  public var path: String { watch.path }

  /// Whether the path led to something when it was last looked at. Any thread.
  public var exists: Bool { watch.exists }

  /// Why the kernel watches it no longer; nil before `.failed`. Any thread.
  public var error: FileError? { watch.error }

  public var items: [Loop.Item] { [item] }
}
