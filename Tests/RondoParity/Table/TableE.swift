// Section E: sources signalled by hand.

extension Table {
  static let sources: [Row] = [
    row(
      "E01", [.phases(), .source("a"), .source("b", order: -1), .source("c")],
      [.signal("c"), .signal("a"), .signal("b"), .run("m", 50)], "E BT BS b c a BT BS BW AW X -> TimedOut"),
    row(
      "E02", [.phases(), .source("a"), .source("b", order: -1), .source("c")],
      [
        .signal("c"), .signal("a"), .signal("b"), .runOne("m", 50), .runOne("m", 50), .runOne("m", 50),
        .runOne("m", 50),
      ],
      "E BT BS b X -> HandledSource E BT BS c X -> HandledSource E BT BS a X -> HandledSource E BT BS BW AW X -> TimedOut"
    ),
    row(
      "E03", [.phases(), .source("a")], [.signal("a"), .runOne("m", 0), .signal("a"), .run("m", 0)],
      "E BT BS a X -> HandledSource E BT BS a X -> TimedOut"),
    row(
      "E09", [.keep(), .source("a", in: ["q"])], [.signal("a"), .run("m", 0), .run("q", 0)],
      "-> TimedOut a -> TimedOut"),
    row(
      "E10b", [.phases(), .source("a"), .source("b")], [.signal("a"), .run("m", 50)],
      on: [.callout("a", nil, 1, .signal("b"))], "E BT BS a BT BS b BT BS BW AW X -> TimedOut"),
    row(
      "E11", [.source("a")],
      [.invalidate("a"), .signal("a"), .add("a", "m"), .probe(.signalled("a")), .probe(.contains("a", "m"))],
      "signalled(a)=0 a@m=0"),
    row(
      "E13", [.source("a")], [.signal("a"), .run("m", 0)],
      on: [
        .callout("a", nil, 1, .signal("a"), .run("m", 0)), .callout("a", nil, 2, .signal("a"), .run("m", 0)),
      ], "a ( a ( a -> TimedOut ) -> TimedOut ) -> TimedOut"),
    row(
      "E14", [.phases(), .source("a"), .timer("t", -1)], [.signal("a"), .busy(1), .runOne("m", 1000)],
      "E BT BS a t X -> HandledSource"),
    row("E15", [.source("a")], [.signal("a"), .signal("a"), .run("m", 20)], "a -> TimedOut"),
    row(
      "E16", [.phases(), .source("a", in: [])], [.signal("a"), .add("a", "m"), .runOne("m", 20)],
      "E BT BS a X -> HandledSource"),
    row(
      "E17", [.phases(), .source("a")], [.signal("a"), .remove("a", "m"), .add("a", "m"), .runOne("m", 20)],
      "E BT BS a X -> HandledSource"),
    row(
      "E18", [.phases(), .source("a")], [.signal("a"), .run("m", 20)],
      on: [.callout("a", nil, 1, .signal("a")), .callout("a", nil, 2, .signal("a"))],
      "E BT BS a BT BS a BT BS a BT BS BW AW X -> TimedOut"),
    row(
      "E21", [.source("a")],
      [
        .elsewhere([.add("a", "m")]), .signal("a"), .elsewhere([.run("m", 0)]), .run("m", 0), .signal("a"),
        .run("m", 0),
        .elsewhere([.run("m", 0)]),
      ], "a -> TimedOut -> TimedOut a -> TimedOut -> TimedOut"),
    row(
      "E22", [.phases(), .keep(), .source("a"), .silent("w", .beforeSources)], [.signal("a"), .run("m", 0)],
      on: [.callout("w", nil, 1, .remove("a", "m"))], "E BT BS X -> TimedOut"),
    row(
      "E23", [.keep(), .source("a", in: ["m", "D"], announces: true)], [.signal("a"), .run("m", 0)],
      on: [.callout("a", nil, 1, .invalidate("a"), .probe(.valid("a")))], "+D +m a -D -m valid(a)=0 -> TimedOut"),
  ]
}
