import Glibc
import Testing

@testable import Rondo

/// The memory of a loop's tables: slots are found again, and those that nobody uses give their pages back.
@Suite struct SlotMemoryTests {
  private static let slotsPerPage = Int(getpagesize()) / 64

  private func take(_ memory: inout SlotMemory<TimerRow>) -> Token {
    let token = memory.take()
    memory[token.slot].isInUse = true
    return token
  }

  /// What stands in a slot, so that a page that went back by mistake is seen.
  private func mark(_ token: Token) -> Instant { Instant(nanoseconds: Int64(token.packed >> 1)) }

  @Test func `what stands in a slot stays when the pages of others go back`() {
    var memory = SlotMemory<TimerRow>()
    let tokens = (0..<100_000).map { _ in take(&memory) }
    for token in tokens { memory[token.slot].date = mark(token) }
    let (kept, freed) = (tokens.filter { $0.slot % 10_000 == 9_999 }, tokens.filter { $0.slot % 10_000 != 9_999 })
    for token in freed { memory.free(token.slot) }
    #expect(memory.usedCount == 10)
    #expect(memory.used == kept.map(\.slot))
    #expect(kept.allSatisfy { memory[$0.slot].date == mark($0) && memory[$0.slot].generation == $0.generation })
    // Fewer than 1,024 slots stay as they are.
    #expect(memory.backedCount <= 1_024)
    #expect(memory.count == 100_000)
  }

  @Test func `a token whose page went back is stale, also when its slot is in use again`() {
    var memory = SlotMemory<TimerRow>()
    let old = (0..<20_000).map { _ in take(&memory) }
    for token in old.dropLast() { memory.free(token.slot) }
    for token in old.dropLast() { #expect(memory[token.slot].generation != token.generation) }
    for _ in 0..<19_999 {
      let token = take(&memory)
      #expect(token.generation > old[Int(token.slot)].generation)
    }
    #expect(memory.count == 20_000)
    #expect(Set(memory.used).count == 20_000)
  }

  @Test func `slots that went back are taken before new ones, the lowest first`() {
    var memory = SlotMemory<TimerRow>()
    let tokens = (0..<10_000).map { _ in take(&memory) }
    for token in tokens.dropLast() { memory.free(token.slot) }
    let taken = (0..<9_999).map { _ in take(&memory).slot }
    #expect(memory.count == 10_000)
    // Those that were freed last, fewer than 1,024, were taken first.
    let returned = taken.filter { $0 < 8_000 }
    #expect(returned == Array(0..<8_000))
  }

  @Test func `a table that grows and shrinks without end has the memory of what is in it`() {
    var memory = SlotMemory<TimerRow>()
    var random = SystemRandomNumberGenerator()
    var tokens: [Token] = []
    for size in [50_000, 100, 70_000, 3, 20_000, 0, 1_000, 40_000, 5_000] {
      while tokens.count < size {
        let token = take(&memory)
        memory[token.slot].date = mark(token)
        tokens.append(token)
      }
      tokens.shuffle(using: &random)
      for token in tokens[size...] { memory.free(token.slot) }
      tokens.removeSubrange(size...)
      #expect(memory.used == tokens.map(\.slot).sorted())
      #expect(tokens.allSatisfy { memory[$0.slot].date == mark($0) })
      #expect(memory.usedCount == UInt32(size))
      #expect(memory.backedCount >= UInt32(size) && memory.backedCount <= memory.count)
      // At the worst, twice as many were in use when pages went back last, each on a page of its own.
      #expect(Int(memory.backedCount) <= max(1_024, 2 * size * Self.slotsPerPage))
    }
  }

  @Test func `an array keeps the memory of a few elements, and not that of many`() {
    var few = Array(0..<4_096)
    var many = Array(0..<4_097)
    few.empty()
    many.empty()
    #expect(few.isEmpty && few.capacity >= 4_096)
    #expect(many.isEmpty && many.capacity == 0)
  }

  @Test func `an array shrinks once three quarters of it are free`() {
    var array = ContiguousArray(0..<100_000)
    let whole = array.capacity
    array.removeLast(100_000 - whole / 4)
    array.shrinkIfSparse()
    #expect(array.capacity == whole)
    array.removeLast()
    array.shrinkIfSparse()
    #expect(array.capacity <= whole / 2 + 64)
    #expect(array.elementsEqual(0..<whole / 4 - 1))
  }
}
