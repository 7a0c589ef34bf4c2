// Sections H and I: common modes, nested runs.

extension Table {
  private static let whereA: [Scenario.Action] = [
    .probe(.contains("a", "D")), .probe(.contains("a", "m")), .probe(.contains("a", "C")),
  ]

  static let common: [Row] = [
    row(
      "H01", [.source("a", in: ["C"], announces: true)],
      [.remove("a", "D"), .commonMode("m")] + whereA + [.add("a", "C")] + whereA
        + [.commonMode("m"), .remove("a", "C")] + whereA,
      "+D -D +m a@D=0 a@m=1 a@C=1 +D a@D=1 a@m=1 a@C=1 -D -m a@D=0 a@m=0 a@C=0"),
    row(
      "H03", [.source("a", in: ["D", "m"], announces: true)], [.add("a", "C"), .remove("a", "C")] + whereA,
      "+D +m -D a@D=0 a@m=1 a@C=0 -m"),
    row(
      "H04", [.source("a", in: ["D"], announces: true)], [.remove("a", "C")] + whereA, "+D a@D=1 a@m=0 a@C=0 -D"),
    row(
      "H05", [.source("a", in: [], announces: true)], [.commonMode("m"), .add("a", "C"), .invalidate("a")] + whereA,
      "+D +m -D -m a@D=0 a@m=0 a@C=0"),
    row(
      "H06", [.source("a", in: ["D"], announces: true)],
      [.add("a", "D"), .remove("a", "D"), .remove("a", "D")] + whereA, "+D -D a@D=0 a@m=0 a@C=0"),
    row(
      "H11b", [.timer("a", 1000, in: ["C"])], [.remove("a", "D"), .commonMode("m")] + whereA, "a@D=0 a@m=1 a@C=1"),
    row(
      "H14", [.phases(), .timer("t", 10, in: ["C"])], [.commonMode("m"), .run("m", 1000)],
      "E BT BS BW AW t X -> Finished"),
  ]

  static let nesting: [Row] = [
    row(
      "I01", [.phases(), .keep(), .timer("t", 10), .timer("u", 25)], [.run("m", 80)],
      on: [.callout("t", nil, 1, .run("m", 1000)), .callout("u", nil, 1, .stop)],
      "E BT BS BW AW t ( E BT BS BW AW u X -> Stopped ) BT BS BW AW X -> TimedOut"),
    row(
      "I01b", [.phases(), .keep(), .timer("t", 10)], [.run("m", 500)],
      on: [.callout("t", nil, 1, .stop, .run("m", 20))], "E BT BS BW AW t ( E BT BS BW AW X -> TimedOut ) X -> Stopped"),
    row(
      "I04", [.keep("m", "q"), .silent("w", [.entry, .exit])],
      [.probe(.currentMode), .block("b"), .run("m", 0), .probe(.currentMode)],
      on: [
        .callout("w", nil, nil, .probe(.currentMode)),
        .callout("b", nil, 1, .probe(.currentMode), .block("c", "q"), .run("q", 0), .probe(.currentMode)),
        .callout("c", nil, 1, .probe(.currentMode)),
      ],
      "mode=none mode=m b mode=m ( c mode=q -> TimedOut ) mode=m mode=m -> TimedOut mode=none"),
    row(
      "I07", [.timer("t", 10)], [.run("m", 500)], on: [.callout("t", nil, 1, .run("m", 20))],
      "t ( -> TimedOut ) -> Finished"),
    row(
      "I08", [.source("a"), .timer("t", 10), .timer("u", 20, in: ["q"])], [.run("m", 500)],
      on: [.callout("t", nil, 1, .remove("a", "m"), .run("q", 500))], "t ( u -> Finished ) -> Finished"),
    row(
      "I09", [.keep(), .timer("t", 10), .source("z", in: ["q"])], [.runOne("m", 60)],
      on: [.callout("t", nil, 1, .signal("z"), .runOne("q", 500))], "t ( z -> HandledSource ) -> TimedOut"),
    row(
      // Two stops from elsewhere, both of them before the loop's thread can come to the first.
      "I10", [.keep("m", "q"), .timer("t", 10), .timer("u", 20, in: ["q"])], [.run("m", 80)],
      on: [.callout("t", nil, 1, .run("q", 500)), .callout("u", nil, 1, .busyUntil(45))],
      helper: [.at(30, .stop, .stop)], "t ( u -> Stopped ) -> TimedOut"),
    row(
      "I11", [.phases("m", "q"), .keep("m", "q"), .timer("t", 2), .silent("w", .exit, in: ["q"])], [.run("m", 40)],
      on: [.callout("t", nil, 1, .run("q", 6)), .callout("w", .exit, 1, .busyUntil(26))], helper: [.at(17, .stop)],
      "E BT BS BW AW t ( E BT BS BW AW X -> TimedOut ) BT BS BW AW X -> TimedOut"),
  ]
}
