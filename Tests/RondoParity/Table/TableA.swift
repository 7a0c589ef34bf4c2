// Section A: entry, results, timeouts, stop.

extension Table {
  static let entry: [Row] = [
    row("A01", [], [.run("m", 50)], "-> Finished"),
    row("A02", [], [.run("C", 50)], "-> Finished"),
    row("A04", [.phases()], [.run("m", 50)], "-> Finished"),
    row("A05", [.phases(), .keep()], [.run("m", 0)], "E BT BS X -> TimedOut"),
    row("A06", [.phases(), .keep()], [.runOne("m", -5)], "E BT BS X -> TimedOut"),
    row(
      "A07", [.phases(), .keep()], [.run("m", 50), .probe(.elapsed(atLeast: 50))],
      "E BT BS BW AW X -> TimedOut late>=50"),
    row(
      "A08", [.phases(), .keep(), .timer("t", 30)], [.run("m", .nan)], on: [.callout("t", nil, 1, .stop)],
      notBefore: ["t": [30]], "E BT BS BW AW t X -> Stopped"),
    row(
      "A09", [.phases(), .keep(), .timer("t", 30)], [.run("m", 1e13)], on: [.callout("t", nil, 1, .stop)],
      notBefore: ["t": [30]], "E BT BS BW AW t X -> Stopped"),
    row(
      "A10", [.phases(), .timer("t", 20)], [.run("m", 1000)], notBefore: ["t": [20]],
      "E BT BS BW AW t X -> Finished"),
    row(
      "A11", [.phases(), .keep(), .timer("t", -1)], [.busy(1), .run("m", 0), .run("m", 0)],
      "E BT BS t X -> TimedOut E BT BS X -> TimedOut"),
    row(
      "A12", [.phases(), .keep(), .timer("t", -1), .silent("w", .beforeTimers)], [.busy(1), .run("m", 0)],
      on: [.callout("w", nil, 1, .wake)], "E BT BS t X -> TimedOut"),
    row(
      "A14", [.phases(), .keep(), .silent("w", .beforeTimers)], [.run("m", 500)], on: [.callout("w", nil, 1, .stop)],
      "E BT BS BW AW X -> Stopped"),
    row(
      "A14b", [.phases(), .keep(), .source("a"), .silent("w", .beforeSources)], [.signal("a"), .run("m", 500)],
      on: [.callout("w", nil, 1, .stop)], "E BT BS a X -> Stopped"),
    row(
      "A15", [.phases(), .keep(), .silent("w", .beforeWaiting)], [.run("m", 500)], on: [.callout("w", nil, 1, .stop)],
      "E BT BS BW AW X -> Stopped"),
    row(
      "A16", [.phases(), .keep(), .timer("t", 10), .silent("w", .afterWaiting)], [.run("m", 500)],
      on: [.callout("w", nil, 1, .stop)], notBefore: ["t": [10]], "E BT BS BW AW t X -> Stopped"),
    row(
      "A17", [.phases(), .keep(), .silent("w", .exit)],
      [.run("m", 0), .run("m", 30), .probe(.elapsed(atLeast: 30))], on: [.callout("w", nil, 1, .stop)],
      "E BT BS X -> TimedOut E BT BS BW AW X -> TimedOut late>=30"),
    row(
      "A18", [.phases(), .keep()], [.stop, .run("m", 30), .probe(.elapsed(atLeast: 30))],
      "E BT BS BW AW X -> TimedOut late>=30"),
    row(
      "A19", [.phases(), .keep(), .source("a")], [.signal("a"), .runOne("m", 50), .runOne("m", 30)],
      on: [.callout("a", nil, 1, .stop)], "E BT BS a X -> HandledSource E BT BS BW AW X -> TimedOut"),
    row(
      "A19b", [.phases(), .keep(), .source("a")], [.signal("a"), .run("m", 50), .run("m", 30)],
      on: [.callout("a", nil, 1, .stop)], "E BT BS a X -> Stopped E BT BS BW AW X -> TimedOut"),
    row(
      "A20", [.phases(), .keep()], [.block("b"), .run("m", 0)], on: [.callout("b", nil, 1, .stop)],
      "E BT BS b X -> TimedOut"),
    row(
      "A21", [.phases(), .keep()], [.run("m", 1000)], helper: [.at(30, .stop)], "E BT BS BW AW X -> Stopped"),
    row(
      "A22", [.phases(), .keep()], [.requestStop("m"), .run("m", 30), .run("m", 30)],
      "E X -> Stopped E BT BS BW AW X -> TimedOut"),
    row(
      "A23", [.phases(), .source("a")], [.signal("a"), .run("m", 0)], on: [.callout("a", nil, 1, .invalidate("a"))],
      "E BT BS a X -> TimedOut"),
    row(
      "A24", [.phases(), .source("a")], [.signal("a"), .run("m", 1000)],
      on: [.callout("a", nil, 1, .invalidate("a"))], "E BT BS a X -> Finished"),
    row(
      "A24b", [.phases(), .source("a")], [.signal("a"), .runOne("m", 1000)],
      on: [.callout("a", nil, 1, .invalidate("a"))], "E BT BS a X -> HandledSource"),
    row(
      "A25", [.phases(), .timer("t", 20, every: 40)], [.runOne("m", 120)], notBefore: ["t": [20, 60, 100]],
      "E BT BS BW AW t BT BS BW AW t BT BS BW AW t BT BS BW AW X -> TimedOut"),
    row(
      "A28", [.phases(), .keep(), .source("a")], [.signal("a"), .run("m", 30)], on: [.callout("a", nil, 1, .busy(60))],
      "E BT BS a X -> TimedOut"),
    row("A31", [.phases(), .keep()], [.run("m", 1e-6)], "E BT BS BW AW X -> TimedOut"),
    row(
      "A32", [.phases("D"), .timer("t", 5, in: ["D"])], [.runForever], notBefore: ["t": [5]],
      "E BT BS BW AW t X returned"),
    row(
      "A33", [.phases("D"), .keep("D"), .source("a", in: ["D"]), .timer("t", 5, in: ["D"])],
      [.signal("a"), .runForever], on: [.callout("t", nil, 1, .stop)], "E BT BS a BT BS BW AW t X returned"),
  ]
}
