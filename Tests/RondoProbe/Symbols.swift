import CTests
import Glibc

/// The functions of the running executable, from its own ELF symbol table: dladdr(3) knows the exported ones only.
struct Symbols: Sendable {
  private struct Function: Sendable {
    let start: UInt64
    let end: UInt64
    let name: String
  }

  private var functions: [Function] = []

  /// Layout of ELF-64 as elf(5) gives it.
  init() {
    let file = Symbols.contents(of: "/proc/self/exe")
    func number(_ offset: Int, _ width: Int) -> UInt64 {
      (0..<width).reduce(0) { $0 | UInt64(file[offset + $1]) << UInt64(8 * $1) }
    }
    let sections = Int(number(0x28, 8))
    let sectionSize = Int(number(0x3A, 2))
    for index in 0..<Int(number(0x3C, 2)) {
      let section = sections + index * sectionSize
      guard number(section + 4, 4) == 2 else { continue }  // SHT_SYMTAB
      let start = Int(number(section + 0x18, 8))
      let count = Int(number(section + 0x20, 8)) / 24
      let names = Int(number(sections + Int(number(section + 0x28, 4)) * sectionSize + 0x18, 8))
      for symbol in 0..<count {
        let entry = start + symbol * 24
        guard file[entry + 4] & 0xF == 2 else { continue }  // STT_FUNC
        let value = number(entry + 8, 8)
        let name = file[(names + Int(number(entry, 4)))...].prefix { $0 != 0 }
        functions.append(
          Function(start: value, end: value + number(entry + 16, 8), name: String(decoding: name, as: UTF8.self)))
      }
    }
  }

  /// Whether there is a function with `part` in its mangled name.
  func contains(_ part: String) -> Bool {
    functions.contains { $0.name.contains(part) }
  }

  /// The mangled names of the calling stack's frames, innermost first.
  @inline(never)
  func frames() -> [String] {
    var offsets = [UInt64](repeating: 0, count: 128)
    let count = unsafe stack_offsets(&offsets, 128)
    return offsets.prefix(Int(count)).map { offset in
      // A return address stands behind its call, which may be a function's last instruction.
      functions.first { $0.start < offset && offset <= $0.end }?.name ?? "?"
    }
  }

  private static func contents(of path: String) -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY)
    precondition(descriptor >= 0, "cannot read \(path)")
    let size = Int(lseek(descriptor, 0, SEEK_END))
    var bytes = [UInt8](repeating: 0, count: size)
    var done = 0
    while done < size {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe pread(descriptor, buffer.baseAddress! + done, size - done, off_t(done))
      }
      precondition(got > 0, "cannot read \(path)")
      done += got
    }
    _ = Glibc.close(descriptor)
    return bytes
  }
}
