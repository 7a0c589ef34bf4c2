import Glibc
import Rondo
import Testing

@testable import RondoDaemon

/// What reports call the sources of a daemon: where its program made them, not where this library did.
@Suite struct NameTests {
  @Test func `each source is called by where its user made it`() throws {
    let first = #line
    let signal = try SignalSource(SIGWINCH) { _, _ in }
    let path = try PathSource("/") { _, _ in }
    let once = try ClockTimer(at: .zero) { _, _ in }
    let grid = try ClockTimer(every: .seconds(1)) { _, _ in }
    let rule = try ClockTimer(by: { $0 + .seconds(60) }, handler: { _, _ in })
    let child = try ChildSource(spawning: ChildSource.Command("/bin/true")) { _, _ in }
    let names = [signal.items[0], path.items[0], once.items[0], grid.items[0], rule.items[0], child.items[0]].map(
      \.name)
    #expect(names == (1...6).map { "\(#fileID):\(first + $0)" })
    signal.invalidate()
    // A child that nobody reaps keeps Swift Testing from seeing the end of others.
    let process = child.process
    for source in [path.items, once.items, grid.items, rule.items, child.items].joined() { source.invalidate() }
    let reaped = waitpid(process, nil, 0)
    #expect(reaped == process)
  }
}
