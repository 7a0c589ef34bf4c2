/// Tells the guesses that the calls of a stack lead through from those that are traces of earlier calls.
///
/// A guess is behind a call. A direct call names the function it calls, which is the one that the next frame inside is in.
struct CallPath {
  /// A place in the code, and where its function begins, if that is known.
  struct Candidate: Equatable {
    let address: UInt64
    let start: UInt64?
    let isGuess: Bool
  }

  /// What an instruction before a return address calls.
  private enum Call {
    case function(UInt64)
    /// A function that the instruction does not name.
    case unnamed
  }

  private let read: (_ address: UInt64, _ words: Int) -> [UInt64]

  init(read: @escaping (_ address: UInt64, _ words: Int) -> [UInt64] = StackWalk.readWords) {
    self.read = read
  }

  /// The candidates without the guesses that a path of calls passes by. The innermost is first.
  ///
  /// Every guess stays where no path is complete, as one is not if a function has jumped to another one at its end.
  func withoutTraces(_ candidates: [Candidate]) -> [Candidate] {
    guard let first = candidates.firstIndex(where: \.isGuess), first > 0,
      let last = candidates.lastIndex(where: \.isGuess), last + 1 < candidates.count,
      let path = path(Array(candidates[(first - 1)...(last + 1)]))
    else { return candidates }
    return candidates[..<(first - 1)] + path + candidates[(last + 2)...]
  }

  /// The longest path from the first to the last; nil if there is none, or if it passes by more than guesses.
  private func path(_ candidates: [Candidate]) -> [Candidate]? {
    // For each candidate, how long the path from the first one is, and which one it comes from.
    var best: [(length: Int, from: Int)?] = [(1, 0)]
    for index in candidates.indices.dropFirst() {
      let call = call(before: candidates[index].address)
      var found: (length: Int, from: Int)?
      // One that must stay ends the search for one further inside.
      for inner in (0..<index).reversed() {
        if let length = best[inner]?.length, leads(call, to: candidates[inner], isNext: inner == index - 1),
          length >= found?.length ?? 0
        {
          found = (length + 1, inner)
        }
        if !candidates[inner].isGuess { break }
      }
      best.append(found)
    }
    guard best[candidates.count - 1] != nil else { return nil }
    var path = [candidates.count - 1]
    while let index = path.last, index > 0, let step = best[index] { path.append(step.from) }
    return path.reversed().map { candidates[$0] }
  }

  /// Whether a call leads to a candidate's function. Where one of the two has no name, it leads to its neighbour alone.
  private func leads(_ call: Call?, to candidate: Candidate, isNext: Bool) -> Bool {
    switch call {
    case .function(let start): candidate.start.map { $0 == start } ?? isNext
    case .unnamed: isNext
    case nil: false
    }
  }

  /// The call before a return address.
  private func call(before address: UInt64) -> Call? {
    #if arch(x86_64)
      guard address >= 8, let word = read(address - 8, 1).first else { return nil }
      let bytes = word.littleEndian
      // call rel32; call *rel32(%rip), by which a library calls another one; another form.
      let distance = UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: bytes >> 32)))
      if UInt8(truncatingIfNeeded: bytes >> 24) == 0xE8 { return .function(target(address &+ distance)) }
      if UInt16(truncatingIfNeeded: bytes >> 16) == 0x15FF, let slot = read(address &+ distance, 1).first {
        return .function(slot)
      }
    #endif
    return .unnamed
  }

  /// Where a call to `address` ends up: a function, or an entry of a linkage table that jumps to one.
  private func target(_ address: UInt64) -> UInt64 {
    let bytes = read(address, 2).flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
    }
    guard bytes.count == 16 else { return address }
    // endbr64, and the prefix that says that the jump's target is checked.
    var start = bytes.starts(with: [0xF3, 0x0F, 0x1E, 0xFA]) ? 4 : 0
    if bytes[start] == 0xF2 { start += 1 }
    guard bytes[start] == 0xFF, bytes[start + 1] == 0x25 else { return address }
    let distance = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[start + 2 + $1]) << (8 * UInt32($1)) }
    let slot = address &+ UInt64(start + 6) &+ UInt64(bitPattern: Int64(Int32(bitPattern: distance)))
    return read(slot, 1).first ?? address
  }
}
