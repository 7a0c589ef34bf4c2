import CRondoInspect

/// The frames of a stopped or blocked thread, the innermost first: by frame pointers, and by what looks like a return
/// address where a library has none.
struct StackWalk {
  /// An address in the code, and how it was found.
  struct Step: Equatable {
    let address: UInt64
    var kind: Kind

    enum Kind: Equatable {
      /// Where the thread is.
      case place
      /// Where a frame returns to.
      case caller
      /// Found on the stack, behind an instruction that calls. A frame without a frame pointer, or a trace of one.
      case guess
    }
  }

  private let map: MemoryMap
  private let read: (_ address: UInt64, _ words: Int) -> [UInt64]

  /// What a walk is bounded by: frames, words that are searched for a frame, and guesses that are kept.
  private static let frameLimit = 128
  private static let searchedWords = 4_096
  private static let guessLimit = 12

  /// - Parameter read: Words of memory, as many as are there.
  init(_ map: MemoryMap, read: @escaping (_ address: UInt64, _ words: Int) -> [UInt64] = readWords) {
    self.map = map
    self.read = read
  }

  /// Walks from a place.
  ///
  /// - Parameter fp: The frame pointer, or whatever the library has put into that register; nil if it is not known.
  func steps(pc: UInt64, sp: UInt64, fp: UInt64?) -> [Step] {
    var steps = [Step(address: pc, kind: .place)]
    guard let stack = map.region(of: sp), stack.isReadable, !stack.isCode else { return steps }
    if let fp, let chain = chain(from: fp, above: sp, in: stack), !chain.isEmpty {
      // If the thread is in a function without a frame, the one that called it has its return address below this record.
      steps += guesses(from: sp, to: fp)
      return steps + chain
    }
    let words = read(sp, min(Self.searchedWords, Int((stack.end - sp) / 8)))
    for index in words.indices {
      let place = sp + UInt64(index) * 8
      guard let chain = chain(from: place, above: sp, in: stack), chain.count >= 3 else { continue }
      return steps + guesses(in: words[..<index]) + self.steps(from: place, in: stack, library: map.region(of: pc))
    }
    return steps + guesses(in: words[...])
  }

  /// The steps of a chain of frame records that begins in a library.
  ///
  /// A library without frames saves the frame pointer of the last function that has one, and leaves words of earlier calls:
  /// both look like frames' records, and lead past the functions in between. Where a record of the library skips
  /// functions, what is beside it is a word like any other.
  private func steps(from start: UInt64, in stack: MemoryMap.Region, library: MemoryMap.Region?) -> [Step] {
    var steps: [Step] = []
    var place = start
    while steps.count < Self.frameLimit {
      let record = read(place, 2).map(Self.stripped)
      let skipped = record[0] > place + 16 ? guesses(from: place + 16, to: min(record[0], stack.end)) : []
      steps += [Step(address: record[1], kind: skipped.isEmpty ? .caller : .guess)] + skipped
      guard let rest = chain(from: record[0], above: place + 16, in: stack) else { break }
      if map.region(of: record[1])?.start != library?.start { return Array((steps + rest).prefix(Self.frameLimit)) }
      place = record[0]
    }
    return steps
  }

  /// The return addresses of a chain of frame records; nil if there is none at `fp`.
  private func chain(from fp: UInt64, above sp: UInt64, in stack: MemoryMap.Region) -> [Step]? {
    var steps: [Step] = []
    var place = fp
    var lowest = sp
    while steps.count < Self.frameLimit {
      guard place >= lowest, place % 8 == 0, place < stack.end, stack.end - place >= 16 else {
        return steps.isEmpty ? nil : steps
      }
      let record = read(place, 2)
      guard record.count == 2 else { return steps.isEmpty ? nil : steps }
      let address = Self.stripped(record[1])
      guard map.isCode(address) else { return steps.isEmpty ? nil : steps }
      steps.append(Step(address: address, kind: .caller))
      let next = Self.stripped(record[0])
      if next == 0 { return steps }
      lowest = place + 16
      place = next
    }
    return steps
  }

  private func guesses(from sp: UInt64, to end: UInt64) -> [Step] {
    guard end > sp else { return [] }
    return guesses(in: read(sp, min(Self.searchedWords, Int((end - sp) / 8)))[...])
  }

  private func guesses(in words: ArraySlice<UInt64>) -> [Step] {
    let found = words.filter { map.isCode($0) && isBehindCall($0) }
    return found.suffix(Self.guessLimit).map { Step(address: $0, kind: .guess) }
  }

  /// Whether the instruction before an address is a call.
  private func isBehindCall(_ address: UInt64) -> Bool {
    #if arch(x86_64)
      let words = read(address - 8, 1)
      guard let word = words.first else { return false }
      // The byte at -n is the word's byte 8 - n.
      func byte(_ distance: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> ((8 - distance) * 8)) }
      if byte(5) == 0xE8 { return true }
      // FF /2, with a register, or memory with no displacement, one of 8 bits or one of 32.
      for length in [2, 3, 4, 6, 7] as [UInt64] {
        for opcode in [length, length - 1] where opcode >= 2 && byte(opcode) == 0xFF && byte(opcode - 1) & 0x38 == 0x10
        {
          return true
        }
      }
      return false
    #elseif arch(arm64)
      guard address % 4 == 0, let word = read(address - 8, 1).first else { return false }
      let instruction = UInt32(truncatingIfNeeded: word >> 32)
      // BL, and BLR with its variants that authenticate.
      return instruction >> 26 == 0x25 || instruction & 0xFEFF_F000 == 0xD63F_0000
    #else
      return false
    #endif
  }

  /// Without what a processor may put into the upper bits to authenticate it.
  private static func stripped(_ address: UInt64) -> UInt64 {
    #if arch(arm64)
      address & 0x0000_FFFF_FFFF_FFFF
    #else
      address
    #endif
  }

  /// Words of this process's memory, as many as are there.
  static func readWords(_ address: UInt64, _ count: Int) -> [UInt64] {
    guard count > 0 else { return [] }
    return unsafe [UInt64](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = unsafe rondo_read_memory(address, buffer.baseAddress!, count * 8) / 8
    }
  }
}
