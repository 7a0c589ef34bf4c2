import Glibc
import Rondo

/// One inotify descriptor, closed with the last reference to it. See inotify(7).
final class Inotify: Sendable {
  /// *constant*
  let descriptor: CInt

  /// What the kernel tells of one watch.
  struct Record: Hashable {
    let watch: CInt
    let mask: UInt32
    /// The same for both halves of a move; else 0.
    let cookie: UInt32
    /// What it happened to in a directory; empty for what is watched itself.
    let name: String

    func has(_ bits: CInt...) -> Bool { bits.contains { mask & UInt32(bitPattern: $0) != 0 } }
  }

  init() throws(FileError) {
    // IN_NONBLOCK and IN_CLOEXEC are defined as these.
    descriptor = inotify_init1(O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError("an inotify descriptor", errno) }
  }

  deinit {
    close(descriptor)
  }

  /// Watches a path for `mask`, or for that as well.
  func watch(_ path: String, _ mask: UInt32) throws(FileError) -> CInt {
    guard !path.utf8.contains(0) else { throw .containsZero(path) }
    let watch = unsafe inotify_add_watch(descriptor, path, mask | UInt32(IN_MASK_ADD))
    guard watch >= 0 else { throw FileError(path, errno) }
    return watch
  }

  func unwatch(_ watch: CInt) {
    inotify_rm_watch(descriptor, watch)
  }

  /// What waits to be read, up to 64 KiB of it. Empty for nothing.
  func read() -> [Record] {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    return count > 0 ? Self.records(in: bytes[..<count]) : []
  }

  /// Reads records as inotify(7) lays them out: four numbers of 32 bits, the last of them the room for the name.
  static func records(in bytes: ArraySlice<UInt8>) -> [Record] {
    var records: [Record] = []
    var rest = bytes
    while rest.count >= 16 {
      let start = rest.startIndex
      let numbers = (0..<4).map { number in
        (0..<4).reduce(UInt32(0)) { $0 | UInt32(rest[start + 4 * number + $1]) << UInt32(8 * $1) }
      }
      let end = start + 16 + Int(numbers[3])
      guard end <= rest.endIndex else { break }
      let name = rest[(start + 16)..<end].prefix { $0 != 0 }
      records.append(
        Record(
          watch: CInt(bitPattern: numbers[0]), mask: numbers[1], cookie: numbers[2],
          name: String(decoding: name, as: UTF8.self)))
      rest = rest[end...]
    }
    return records
  }
}
