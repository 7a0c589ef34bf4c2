// A tracking mode: while something short and exclusive goes on, default timers rest and common ones go on.
import Rondo
import RondoFoundation

/// A timer that counts its ticks, each of which ends a run.
final class Ticker: @unchecked Sendable {
  let name: String
  private(set) var ticks = 0

  init(_ name: String, every interval: TimeInterval, in mode: RunLoop.Mode) {
    self.name = name
    let timer = Timer(timeInterval: interval, repeats: true) { [unowned self] _ in
      ticks += 1
      RunLoop.current.stop()
    }
    RunLoop.current.add(timer, forMode: mode)
  }
}

/// Runs `mode` until each of `tickers` has ticked twice more, and says who ticked.
func run(_ mode: RunLoop.Mode, until tickers: [Ticker], of all: [Ticker]) {
  let before = all.map(\.ticks)
  let goals = tickers.map { $0.ticks + 2 }
  while zip(tickers, goals).contains(where: { $0.ticks < $1 }) {
    _ = RunLoop.current.run(mode: mode, before: .distantFuture)
  }
  for (ticker, ticks) in zip(all, before) {
    print("  \(ticker.name): \(ticker.ticks > ticks ? "ticked" : "rested")")
  }
}

RunLoop.current.addCommonMode(.tracking)
let refresh = Ticker("refresh, in the default mode", every: 0.005, in: .default)
let playback = Ticker("playback, in the common modes", every: 0.005, in: .common)
let gesture = Ticker("gesture, in the tracking mode", every: 0.005, in: .tracking)
let all = [refresh, playback, gesture]

print("ordinary work")
run(.default, until: [refresh, playback], of: all)
print("tracking")
run(.tracking, until: [playback, gesture], of: all)
print("ordinary work again")
run(.default, until: [refresh, playback], of: all)
