import Glibc
import Rondo

/// The watches along a path: one on each directory for the name that follows in it, and one on the file at its end.
final class PathWatch: Sendable {
  /// *constant* Absolute.
  let path: String
  /// *constant*
  let inotify: Inotify
  /// *its lock*
  private let state: Guarded<State>

  fileprivate struct State {
    /// Which names matter, by watch of a directory.
    var names: [CInt: Set<String>] = [:]
    /// The watch of the file at the end.
    var file: CInt = -1
    var contents: Contents?
    /// Why it is watched no longer as it should be.
    var error: FileError?
  }

  /// Which contents it has.
  fileprivate struct Contents: Equatable {
    let size: Int
    let seconds: Int
    let nanoseconds: Int
  }

  init(_ path: String) throws(FileError) {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .containsZero(path) }
    var absolute = path
    if !path.hasPrefix("/") { absolute = try Self.directory() + "/" + path }
    self.path = absolute
    inotify = try Inotify()
    state = Guarded(State())
    let (followed, watches) = (absolute, self.inotify)
    try state.withLock { state throws(FileError) in try state.follow(followed, watches) }
  }

  var exists: Bool { state.withLock { $0.contents != nil } }

  /// Why it is watched no longer; nil while it is.
  var error: FileError? { state.withLock { $0.error } }

  /// The loop cannot watch the inotify descriptor.
  func giveUp(_ reason: Loop.DescriptorSource.InvalidationReason) -> PathSource.Change {
    state.withLock { $0.error = .unwatched(path, errno: reason.errno) }
    return .failed
  }

  /// What has changed since the last time.
  func takeChange() -> PathSource.Change {
    let records = inotify.read()
    return state.withLock { state in
      var change: PathSource.Change = []
      var mustFollow = false
      for record in records {
        if record.has(CInt(IN_Q_OVERFLOW)) {
          change.insert(.missed)
        } else if record.watch == state.file {
          if record.has(CInt(IN_MODIFY)) { change.insert(.written) }
          if record.has(CInt(IN_CLOSE_WRITE)) { change.insert(.finished) }
        }
        if let names = state.names[record.watch] {
          mustFollow = mustFollow || record.name.isEmpty || names.contains(record.name)
        }
      }
      guard mustFollow || change.contains(.missed) else { return change }
      let (old, oldFile) = (state.contents, state.file)
      do throws(FileError) {
        try state.follow(path, inotify)
      } catch {
        state.error = error
        change.insert(.failed)
      }
      switch (old, state.contents) {
      case (nil, .some): change.insert(.appeared)
      case (.some, nil): change.insert(.vanished)
      // The number of a file that has gone may be another one's by now; that of its watch is not.
      case (.some, .some) where state.file != oldFile: change.insert(.replaced)
      case (let old?, let new?) where old != new && change.contains(.missed): change.insert(.written)
      default: break
      }
      return change
    }
  }

  private static func directory() throws(FileError) -> String {
    guard let name = unsafe getcwd(nil, 0) else { throw FileError(".", errno) }
    defer { unsafe free(name) }
    return unsafe String(cString: name)
  }
}

extension PathWatch.State {
  /// A link that leads to a link, and so on, more often than that leads nowhere: the kernel's own limit, MAXSYMLINKS.
  private static let mostLinks = 40
  /// What changes the way to a file.
  private static let ofDirectory =
    UInt32(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
    | UInt32(IN_DELETE_SELF | IN_MOVE_SELF)
  private static let ofFile = UInt32(IN_MODIFY | IN_CLOSE_WRITE)

  /// Goes along the path, puts a watch wherever something may change it, and takes away those that are of no use now.
  ///
  /// A directory is watched before it is looked into, so that what changes afterwards is told.
  fileprivate mutating func follow(_ path: String, _ inotify: Inotify) throws(FileError) {
    let (oldNames, oldFile) = (names, file)
    names = [:]
    file = -1
    var failure: FileError?
    do throws(FileError) {
      try walk(path, inotify)
      contents = try Self.contents(of: path)
    } catch {
      failure = error
    }
    for watch in oldNames.keys where names[watch] == nil && watch != file { inotify.unwatch(watch) }
    if oldFile >= 0, oldFile != file, names[oldFile] == nil { inotify.unwatch(oldFile) }
    if let failure { throw failure }
  }

  private mutating func walk(_ path: String, _ inotify: Inotify) throws(FileError) {
    var directory = ""
    var rest = path.split(separator: "/").map(String.init)[...]
    var links = 0
    while let name = rest.popFirst() {
      if name == "." { continue }
      if name == ".." {
        directory = String(directory[..<(directory.lastIndex(of: "/") ?? directory.startIndex)])
        continue
      }
      guard
        let watch = try Self.present({ () throws(FileError) in
          try inotify.watch(directory.isEmpty ? "/" : directory, Self.ofDirectory | UInt32(IN_ONLYDIR))
        })
      else { return }
      names[watch, default: []].insert(name)
      let full = directory + "/" + name
      guard let target = try Self.target(of: full) else {
        directory = full
        continue
      }
      links += 1
      if links > Self.mostLinks { return }
      if target.hasPrefix("/") { directory = "" }
      rest = target.split(separator: "/").map(String.init) + rest
    }
    file =
      try Self.present { () throws(FileError) in
        try inotify.watch(directory.isEmpty ? "/" : directory, Self.ofFile)
      } ?? -1
  }

  /// What `watch` answers; nil where there is nothing.
  private static func present(_ watch: () throws(FileError) -> CInt) throws(FileError) -> CInt? {
    do throws(FileError) {
      return try watch()
    } catch {
      switch error {
      case .notFound: return nil
      default: throw error
      }
    }
  }

  /// Where a symbolic link leads; nil for anything else.
  private static func target(of path: String) throws(FileError) -> String? {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe bytes.withUnsafeMutableBytes { room in
      unsafe readlink(path, room.baseAddress!.assumingMemoryBound(to: CChar.self), room.count)
    }
    if count >= 0 { return String(decoding: bytes.prefix(count), as: UTF8.self) }
    // Nothing is there, or no link.
    if [EINVAL, ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP].contains(errno) { return nil }
    throw FileError(path, errno)
  }

  /// What a path leads to; nil for nothing, which is another answer than none.
  private static func contents(of path: String) throws(FileError) -> PathWatch.Contents? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      if [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG].contains(errno) { return nil }
      throw FileError(path, errno)
    }
    return PathWatch.Contents(
      size: Int(status.st_size), seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
  }
}
