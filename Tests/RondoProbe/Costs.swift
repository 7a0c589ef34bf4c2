import Glibc
import Rondo

/// 10,000 turns with one ready descriptor each, for who counts instructions.
func probeReadyTurns() {
  let loop = Loop.current
  let source = try! Loop.DescriptorSource(readyDescriptor(), for: .read) { _, _ in }
  loop.add(source)
  for _ in 0..<10_000 { loop.run(for: .zero) }
  report("turns", loop.statistics.turns)
  report("calls", loop.statistics.descriptorCallouts)
}

/// 10,000 changes of interest, each with a turn.
func probeInterestTurns() {
  var pair: [CInt] = [0, 0]
  _ = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair)
  let loop = Loop.current
  let source = try! Loop.DescriptorSource(pair[0], for: .read) { _, _ in }
  loop.add(source)
  for _ in 0..<5_000 {
    source.enable(.write)
    loop.run(for: .zero)
    source.disable(.write)
    loop.run(for: .zero)
  }
  report("turns", loop.statistics.turns)
}
