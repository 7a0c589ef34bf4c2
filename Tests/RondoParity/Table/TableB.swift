// Section B: wake-ups, signals, other threads.

extension Table {
  static let wakeups: [Row] = [
    row(
      "B01", [.phases(), .keep()], [.wake, .run("m", 30), .probe(.elapsed(atLeast: 30))],
      "E BT BS BW AW X -> TimedOut late>=30"),
    row(
      "B02", [.phases(), .keep(), .silent("w", .entry)], [.run("m", 30)], on: [.callout("w", nil, 1, .wake)],
      "E BT BS BW AW BT BS BW AW X -> TimedOut"),
    row(
      "B03", [.phases(), .keep(), .silent("w", .beforeWaiting)], [.run("m", 30)], on: [.callout("w", nil, 1, .wake)],
      "E BT BS BW AW BT BS BW AW X -> TimedOut"),
    row(
      "B04", [.phases(), .keep(), .timer("t", 10)], [.run("m", 50)], on: [.callout("t", nil, 1, .wake)],
      notBefore: ["t": [10]], "E BT BS BW AW t BT BS BW AW X -> TimedOut"),
    row(
      "B04b", [.phases(), .keep(), .timer("t", 10), .silent("w", .afterWaiting)], [.run("m", 50)],
      on: [.callout("w", nil, 1, .wake)], "E BT BS BW AW t BT BS BW AW X -> TimedOut"),
    row(
      "B05", [.phases(), .keep(), .silent("w", .beforeWaiting)], [.run("m", 50)],
      on: [.callout("w", nil, 1, .wake, .wake, .wake)], "E BT BS BW AW BT BS BW AW X -> TimedOut"),
    row(
      "B07", [.phases(), .keep(), .source("a")], [.signal("a"), .run("m", 50)], on: [.callout("a", nil, 1, .wake)],
      "E BT BS a BT BS BW AW X -> TimedOut"),
    row(
      "B07b", [.phases(), .keep(), .silent("w", .exit)], [.run("m", 20), .run("m", 20)],
      on: [.callout("w", nil, 1, .wake)], "E BT BS BW AW X -> TimedOut E BT BS BW AW X -> TimedOut"),
    row(
      "B08", [.phases(), .source("a")], [.run("m", 50), .run("m", 0)], helper: [.at(10, .signal("a"))],
      "E BT BS BW AW X -> TimedOut E BT BS a X -> TimedOut"),
    row(
      "B09", [.phases(), .keep()], [.run("m", 50), .probe(.elapsed(atLeast: 50))], helper: [.at(10, .block("b"))],
      "E BT BS BW AW b X -> TimedOut late>=50"),
    row(
      "B09b", [.phases(), .keep()], [.run("m", 60)], helper: [.at(20, .block("b"), .wake)],
      "E BT BS BW AW b BT BS BW AW X -> TimedOut"),
    row(
      "B11", [.phases(), .keep(), .silent("w", .all)], [.run("m", 50)],
      on: [.callout("w", nil, nil, .probe(.waiting))], helper: [.at(20, .probe(.waiting))],
      "E waiting=0 BT waiting=0 BS waiting=0 BW waiting=0 waiting=1 AW waiting=0 X waiting=0 -> TimedOut"),
    row(
      "B13", [.phases(), .keep(), .source("a"), .silent("w", .beforeWaiting)],
      [.run("m", 50), .probe(.signalled("a"))], on: [.callout("w", nil, 1, .signal("a"))],
      "E BT BS BW AW X -> TimedOut signalled(a)=1"),
    row(
      "B14", [.phases(), .keep(), .source("a"), .silent("w", .beforeWaiting)], [.run("m", 50)],
      on: [.callout("w", nil, 1, .signal("a"), .wake)], "E BT BS BW AW BT BS a BT BS BW AW X -> TimedOut"),
    row(
      "B15", [.phases(), .keep(), .source("a"), .silent("w", .beforeSources)], [.run("m", 50)],
      on: [.callout("w", nil, 1, .signal("a"))], "E BT BS a BT BS BW AW X -> TimedOut"),
    row(
      "B16", [.phases(), .source("a"), .timer("t", 10)], [.runOne("m", 500)],
      on: [.callout("t", nil, 1, .signal("a"))], notBefore: ["t": [10]], "E BT BS BW AW t BT BS a X -> HandledSource"),
    row(
      "B17", [.phases(), .keep()], [.run("m", 40), .probe(.elapsed(atLeast: 40))],
      helper: [.at(10, .interruptLoopThread)], "E BT BS BW AW X -> TimedOut late>=40"),
    row(
      "B19", [.phases(), .keep(), .timer("t", 1_000_000)], [.run("m", 80)],
      helper: [.at(15, .setFireDate("t", milliseconds: 20))], notBefore: ["t": [35]],
      "E BT BS BW AW BT BS BW AW t BT BS BW AW X -> TimedOut"),
    row(
      "B20 with a wake", [.phases(), .keep()], [.run("m", 500)], helper: [.at(10, .remove("K", "m"), .wake)],
      "E BT BS BW AW X -> Finished"),
    row(
      "B22", [.phases("q"), .keep("m", "q"), .silent("w", .entry)], [.run("m", 0), .run("q", 20)],
      on: [.callout("w", nil, 1, .wake)], "-> TimedOut E BT BS BW AW X -> TimedOut"),
    // The wakeup descriptor keeps the place that it got in another mode's set before that mode ran.
    row(
      "B22 listed by a wakeup",
      [.phases("q"), .keep("m", "q"), .timer("t", 15, in: ["q"]), .silent("w", .entry, in: ["q"])],
      [.run("m", 30), .run("q", 0), .run("q", 0)], on: [.callout("w", nil, 1, .wake)], helper: [.at(5, .wake)],
      "-> TimedOut E BT BS X -> TimedOut E BT BS t X -> TimedOut"),
    row(
      "B22 listed by a timeout",
      [.phases("q"), .keep("m", "q"), .timer("t", 25, in: ["q"]), .silent("w", .entry, in: ["q"])],
      [.run("m", 15), .busyUntil(35), .run("q", 0), .run("q", 0)], on: [.callout("w", nil, 1, .wake)],
      "-> TimedOut E BT BS X -> TimedOut E BT BS t X -> TimedOut"),
    row(
      "B22 listed and read",
      [.phases("q"), .keep("m", "q"), .timer("t", 25, in: ["q"]), .silent("w", .entry, in: ["q"])],
      [.run("m", 15), .run("q", 0), .busyUntil(35), .run("q", 0), .run("q", 0)],
      on: [.callout("w", nil, 2, .wake)],
      "-> TimedOut E BT BS X -> TimedOut E BT BS t X -> TimedOut E BT BS X -> TimedOut"),
    row(
      "B25", [.phases(), .keep(), .silent("w", .afterWaiting)], [.run("m", 20)],
      on: [.callout("w", nil, 1, .run("m", 0))], "E BT BS BW AW ( E BT BS X -> TimedOut ) X -> TimedOut"),
  ]
}
