import Rondo
import RondoSockets
import RondoTestSupport
import RondoTesting
import Testing

/// Simulation finds what is planted in a server, and nothing in one that is right.
@Suite struct StormTests {
  @Test func `no seed makes a right server lose a session, an answer or a descriptor`() throws {
    for number in 1...stressCount(5_000) {
      let storm = try Storm(Seed(UInt64(number)))
      try #require(storm.complaints == [], "seed \(number)")
    }
  }

  @Test(arguments: Plant.allCases)
  func `what is planted is found by a seed, in each of a hundred runs with it`(_ plant: Plant) throws {
    #expect(try Storm(nil, planting: plant).complaints == [])
    let found = try (1...200 as ClosedRange<UInt64>).first { try !Storm(Seed($0), planting: plant).complaints.isEmpty }
    let seed = Seed(try #require(found))
    let first = try Storm(seed, planting: plant)
    for _ in 0..<100 { #expect(try Storm(seed, planting: plant) == first) }
  }

  @Test func `a seed gives one trace on every machine, in debug and in release`() throws {
    // Of all traces, by FNV-1a. A change of what a loop does first changes it: the failure prints the new number.
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    for number in 1...20 as ClosedRange<UInt64> {
      for byte in try Storm(Seed(number)).trace.joined(separator: " ").utf8 {
        digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3
      }
    }
    #expect(digest == 17_155_427_660_266_698_060)
  }
}
