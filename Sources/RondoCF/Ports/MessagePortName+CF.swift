import Glibc
import RondoPorts
import Synchronization

extension MessagePortName {
  /// The kernel's name for a CFMessagePort's: the same one, if it can be. Nil is for a port that has no name.
  ///
  /// - Throws: `.badName` for one that is empty, has more than 255 bytes, or contains NUL.
  init(ofCF name: String?) throws(MessagePortError) {
    guard let name else {
      let number = Self.unnamed.wrappingAdd(1, ordering: .relaxed).newValue
      self = try MessagePortName("%-\(getpid())-\(number)")
      return
    }
    guard 1...255 ~= name.utf8.count, !name.utf8.contains(0) else { throw .badName(name) }
    // None of those that are made here: they begin with a percent sign.
    if !name.hasPrefix("%"), let plain = try? MessagePortName(name) {
      self = plain
      return
    }
    let escaped = name.map { $0 == "%" ? "%25" : $0 == "/" ? "%2F" : String($0) }
    if let found = try? MessagePortName("%.\(escaped.joined())") {
      self = found
      return
    }
    // Too long for a socket's name: FNV-1a stands for it.
    let hash = name.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    try self.init("%%\(String(hash, radix: 16))")
  }

  private static let unnamed = Atomic<UInt64>(0)
}
