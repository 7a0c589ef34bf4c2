/// What is where in this process: /proc/self/maps, see proc(5).
struct MemoryMap {
  private(set) var regions: [Region] = []

  struct Region: Equatable {
    let start: UInt64
    let end: UInt64
    let isReadable: Bool
    let isCode: Bool

    func contains(_ address: UInt64) -> Bool { address >= start && address < end }
  }

  /// As it is now; nil if the kernel does not tell.
  static func capture() -> MemoryMap? {
    SystemFiles.text("/proc/self/maps", limit: 4 << 20).map(MemoryMap.init)
  }

  init(_ text: String) {
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
      guard fields.count >= 2 else { continue }
      let bounds = fields[0].split(separator: UInt8(ascii: "-"))
      guard bounds.count == 2, let start = UInt64(Substring(bounds[0]), radix: 16),
        let end = UInt64(Substring(bounds[1]), radix: 16)
      else { continue }
      let rights = Array(fields[1])
      regions.append(
        Region(
          start: start, end: end, isReadable: rights.first == UInt8(ascii: "r"),
          // A stack may be executable, where a linker was not told that it need not be.
          isCode: rights.count > 2 && rights[2] == UInt8(ascii: "x") && rights[1] != UInt8(ascii: "w")))
    }
  }

  /// The region that an address is in. They are in order.
  func region(of address: UInt64) -> Region? {
    var (low, high) = (0, regions.count)
    while low < high {
      let middle = (low + high) / 2
      if regions[middle].end <= address { low = middle + 1 } else { high = middle }
    }
    guard low < regions.count, regions[low].contains(address) else { return nil }
    return regions[low]
  }

  func isCode(_ address: UInt64) -> Bool { region(of: address)?.isCode ?? false }
}
