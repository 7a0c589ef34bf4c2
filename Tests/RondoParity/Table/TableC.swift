// Section C: blocks.

extension Table {
  static let blocks: [Row] = [
    row(
      "C02", [.keep()],
      [
        .block("q1", "q"), .block("b1"), .block("q2", "q"), .block("b2"), .run("m", 0), .block("q3", "q"), .run("q", 0),
      ],
      "b1 b2 -> TimedOut q1 q2 q3 -> TimedOut"),
    row(
      "C03", [.phases()], [.block("b", "q"), .run("m", 50), .run("q", 0)], "-> Finished b -> TimedOut"),
    row(
      "C04", [.keep("m"), .phases("D", "m"), .keepIn("L", "D")], [.block("c", "C"), .run("m", 0), .run("D", 0)],
      "E BT BS X -> TimedOut E BT BS c X -> TimedOut"),
    row(
      "C04b", [.phases(), .keep()], [.block("c", "C"), .commonMode("m"), .run("m", 0)], "E BT BS c X -> TimedOut"),
    row(
      "C05", [.keep("m", "q")], [.block("b", "m", "q"), .run("m", 0), .run("q", 0)], "b -> TimedOut -> TimedOut"),
    row(
      "C07", [.phases(), .keep(), .source("a")], [.signal("a"), .run("m", 0)],
      on: [.callout("a", nil, 1, .block("b"))], "E BT BS a b X -> TimedOut"),
    row(
      "C08", [.phases(), .keep(), .timer("t", 10)], [.run("m", 50)], on: [.callout("t", nil, 1, .block("b"))],
      notBefore: ["t": [10]], "E BT BS BW AW t b BT BS BW AW X -> TimedOut"),
    row(
      "C09", [.keep()], [.block("b1"), .block("b2"), .run("m", 0)], on: [.callout("b1", nil, 1, .run("m", 0))],
      "b1 ( -> TimedOut ) b2 -> TimedOut"),
    row(
      "C09b", [.phases()], [.block("b1"), .block("b2"), .run("m", 0)], on: [.callout("b1", nil, 1, .run("m", 20))],
      "E BT BS b1 ( -> Finished ) b2 X -> TimedOut"),
    row(
      "C10", [.phases(), .keep(), .silent("w", .beforeSources)], [.run("m", 0)],
      on: [.callout("w", nil, 1, .block("b"))], "E BT BS b X -> TimedOut"),
    row(
      "C11", [.phases(), .keep(), .silent("w", .beforeWaiting)], [.run("m", 30), .probe(.elapsed(atLeast: 30))],
      on: [.callout("w", nil, 1, .block("b"))], "E BT BS BW AW b X -> TimedOut late>=30"),
    row(
      "C13", [.keep("m", "q")], [.block("q1", "q"), .block("b1"), .run("m", 0), .run("q", 0)],
      on: [.callout("b1", nil, 1, .block("q2", "q"))], "b1 -> TimedOut q1 q2 -> TimedOut"),
    row(
      "C14", [.phases(), .keep()], [.block("b"), .runOne("m", 30)], "E BT BS b BW AW X -> TimedOut"),
    row(
      "C15", [.phases(), .keep()], [.block("b", modes: []), .run("m", 0)], "E BT BS X -> TimedOut"),
  ]
}
