// The rows on which Rondo decided otherwise: what CFRunLoop does, what Rondo does instead, and the decision's name.

extension Table {
  package static let excluded: [Row] = excludedRuns + excludedItems

  private static let excludedRuns: [Row] = [
    row(
      "A12b", [.phases(), .keep(), .timer("t", -1, in: []), .silent("w", .entry)], [.run("m", 0), .run("m", 0)],
      on: [.callout("w", nil, 1, .wake, .busy(1), .add("t", "m"))], decision: "Q11",
      cf: "E BT BS X -> TimedOut E BT BS t X -> TimedOut", rondo: "E BT BS t X -> TimedOut E BT BS X -> TimedOut"),
    row(
      "A13", [.phases(), .keep(), .silent("w", .entry)], [.run("m", 50), .run("m", 50)],
      on: [.callout("w", nil, 1, .stop)], decision: "Q3",
      cf: "E X -> Stopped E BT BS BW AW X -> TimedOut", rondo: "E X -> Stopped E BT BS BW AW X -> TimedOut"),
    row(
      "A29", [.phases(), .keep(), .silent("w", .beforeTimers)], [.run("m", 50)],
      on: [.callout("w", nil, 1, .remove("K", "m"))], decision: "Q1", cf: "E BT BS BW AW X -> TimedOut",
      rondo: "E BT BS X -> Finished"),
    row(
      "A30", [.phases(), .keep(), .silent("w", .entry)], [.run("m", 50)],
      on: [.callout("w", nil, 1, .remove("K", "m"))], decision: "Q1", cf: "E BT BS BW AW X -> TimedOut",
      rondo: "E BT BS X -> Finished"),
    row(
      "B06", [.phases()], [.block("b"), .run("m", 100)], on: [.callout("b", nil, 1, .wake)], decision: "Q1",
      cf: "E BT BS b BW AW X -> Finished", rondo: "E BT BS b X -> Finished"),
    row(
      "B10", [.phases(), .keep(), .timer("t", 30, in: [])], [.run("m", 80)], helper: [.at(10, .add("t", "m"))],
      notBefore: ["t": [30]], decision: "adding from another thread",
      cf: "E BT BS BW AW t BT BS BW AW X -> TimedOut", rondo: "E BT BS BW AW BT BS BW AW t BT BS BW AW X -> TimedOut"),
    row(
      "B18", [.phases(), .keep(), .source("a", in: [])], [.signal("a"), .runOne("m", 50)],
      helper: [.at(10, .add("a", "m"))], decision: "adding from another thread", cf: "E BT BS BW AW X -> TimedOut",
      rondo: "E BT BS BW AW BT BS a X -> HandledSource"),
    row(
      "B20", [.phases(), .keep()], [.run("m", 50)], helper: [.at(10, .remove("K", "m"))],
      decision: "removing from another thread", cf: "E BT BS BW AW X -> TimedOut", rondo: "E BT BS BW AW X -> Finished"),
    row(
      "B21", [.phases("m", "q"), .keep("m", "q"), .silent("w", .entry)], [.run("m", 50), .run("q", 20)],
      on: [.callout("w", nil, 1, .stop)], decision: "Q3", cf: "E X -> Stopped E BT BS BW AW X -> TimedOut",
      rondo: "E X -> Stopped E BT BS BW AW X -> TimedOut"),
    row(
      "B23", [.phases(), .keep(), .observer("n", .all, in: [])], [.run("m", 30)], helper: [.at(10, .add("n", "m"))],
      decision: "adding from another thread", cf: "E BT BS BW AW n:AW X n:X -> TimedOut",
      rondo: "E BT BS BW AW n:AW BT n:BT BS n:BS BW n:BW AW n:AW X n:X -> TimedOut"),
    row(
      "B24", [.phases(), .keep(), .port("A", written: true), .silent("w", .beforeTimers)],
      [.run("m", 0), .run("m", 30)], on: [.callout("w", nil, 1, .wake)], decision: "Q3",
      cf: "E BT BS A X -> TimedOut E BT BS BW AW X -> TimedOut",
      rondo: "E BT BS X -> TimedOut E BT BS BW AW A BT BS BW AW X -> TimedOut"),
    row(
      "C01", [.phases()], [.block("b"), .run("m", 100)], decision: "Q1", cf: "E BT BS b BW AW X -> TimedOut",
      rondo: "E BT BS b X -> Finished"),
    row(
      "C01b", [.phases()], [.block("b"), .wake, .run("m", 100)], decision: "Q1", cf: "E BT BS b BW AW X -> TimedOut",
      rondo: "E BT BS b X -> Finished"),
    row(
      "C06", [.phases()], [.block("b"), .run("m", 60)], on: [.callout("b", nil, 1, .block("b2"))],
      decision: "Q1", cf: "E BT BS b BW AW b2 X -> TimedOut", rondo: "E BT BS b BW AW b2 X -> TimedOut"),
    row(
      "C12", [.source("a", in: [])],
      [
        .probe(.modes), .block("b", "newmode"), .block("c", "C"), .probe(.modes), .commonMode("cm"), .probe(.modes),
        .add("a", "C"), .probe(.modes),
      ], decision: "modes", cf: "modes=D modes=C,D,newmode modes=C,D,newmode modes=C,D,cm,newmode",
      rondo: "modes=D modes=D,newmode modes=D,newmode modes=D,cm,newmode"),
    row(
      "I03", [.phases(), .keep()], [.block("b"), .run("m", 30), .probe(.elapsed(atLeast: 60))],
      on: [.callout("b", nil, 1, .run("m", 60))], helper: [.at(150, .wake)], decision: "Q4",
      cf: "E BT BS b ( E BT BS BW AW BT BS BW AW X -> TimedOut ) BW AW X -> TimedOut late>=60",
      rondo: "E BT BS b ( E BT BS BW AW X -> TimedOut ) BW AW X -> TimedOut late>=60"),
    row(
      "I03b", [.phases(), .keep(), .source("a")], [.signal("a"), .run("m", 30), .probe(.elapsed(atLeast: 60))],
      on: [.callout("a", nil, 1, .run("m", 60))], decision: "Q4",
      cf: "E BT BS a ( E BT BS BW AW BT BS BW AW X -> TimedOut ) X -> TimedOut late>=60",
      rondo: "E BT BS a ( E BT BS BW AW X -> TimedOut ) X -> TimedOut late>=60"),
    row(
      "I03c", [.phases(), .keep("m", "q"), .silent("w", .beforeWaiting)], [.run("m", 30)],
      on: [.callout("w", nil, 1, .run("q", 60))], helper: [.at(150, .wake)], decision: "Q4",
      cf: "E BT BS BW ( -> TimedOut ) AW X -> TimedOut", rondo: "E BT BS BW ( -> TimedOut ) AW X -> TimedOut"),
    row(
      "I03d", [.phases(), .keep("m", "q"), .source("a"), .silent("w", .beforeWaiting)], [.run("m", 100)],
      on: [.callout("w", nil, 1, .signal("a"), .wake, .run("q", 20))], decision: "Q4",
      cf: "E BT BS BW ( -> TimedOut ) AW X -> TimedOut",
      rondo: "E BT BS BW ( -> TimedOut ) AW BT BS a BT BS BW AW X -> TimedOut"),
  ]

  private static let excludedItems: [Row] = [
    row(
      "D03", [.keep(), .observer("A", .beforeTimers), .observer("B", [.beforeTimers, .beforeSources], order: 1)],
      [.run("m", 0)], on: [.callout("A", nil, 1, .remove("B", "m"))], decision: "Q7", cf: "A:BT B:BT -> TimedOut",
      rondo: "A:BT -> TimedOut"),
    row(
      "E10", [.source("a"), .source("b")], [.signal("a"), .signal("b"), .run("m", 0)],
      on: [.callout("a", nil, 1, .remove("b", "m"))], decision: "Q7", cf: "a b -> TimedOut", rondo: "a -> TimedOut"),
    row(
      "E12", [.phases(), .keep(), .source("a"), .source("b", order: 1)], [.signal("a"), .signal("b"), .run("m", 50)],
      on: [.callout("a", nil, 1, .invalidate("b"))], decision: "Q5", cf: "E BT BS a BW AW X -> TimedOut",
      rondo: "E BT BS a BT BS BW AW X -> TimedOut"),
    row(
      "E19", [.phases(), .source("a"), .timer("t", 1)], [.signal("a"), .run("m", 50)],
      on: [.callout("t", nil, 1, .probe(.signalled("a"))), .callout("a", nil, 1, .busy(3), .signal("a"))],
      decision: "Q11", cf: "E BT BS a t signalled(a)=1 BT BS a BT BS BW AW X -> TimedOut",
      rondo: "E BT BS a t signalled(a)=1 BT BS a BT BS BW AW X -> TimedOut"),
    row(
      "F04", [.phases(), .keep(), .port("A", written: true, in: [])], [.runOne("m", 500)],
      helper: [.at(10, .add("A", "m"))], decision: "adding from another thread",
      cf: "E BT BS BW AW A X -> HandledSource", rondo: "E BT BS BW AW BT BS BW AW A X -> HandledSource"),
    row(
      "E25", [.source("a", in: [])], [.signal("a"), .invalidate("a"), .probe(.signalled("a"))],
      decision: "signal of an invalid source", cf: "signalled(a)=0", rondo: "signalled(a)=1"),
    row(
      "G04", [.keep(), .timer("t", 10)], [.run("m", 60), .probe(.valid("t")), .probe(.hasFireDate("m"))],
      on: [.callout("t", nil, 1, .setFireDate("t", milliseconds: 20), .probe(.valid("t")))],
      notBefore: ["t": [10, 30]],
      decision: "one-shot", cf: "t valid(t)=1 -> TimedOut valid(t)=0 date(m)=0",
      rondo: "t valid(t)=1 t -> TimedOut valid(t)=0 date(m)=0"),
    row(
      "G06b", [.keep(), .timer("a", -2), .timer("b", -1, in: ["m", "q"])], [.busy(1), .run("m", 0)],
      on: [.callout("a", nil, 1, .remove("b", "m"))], decision: "Q7", cf: "a b -> TimedOut", rondo: "a -> TimedOut"),
    row(
      "G06e", [.phases(), .keep(), .timer("a", -2), .timer("b", -1)], [.busy(1), .run("m", 0), .run("m", 0)],
      on: [.callout("a", nil, 1, .remove("b", "m"), .add("b", "m"))], decision: "re-added timer",
      cf: "E BT BS a b X -> TimedOut E BT BS X -> TimedOut", rondo: "E BT BS a X -> TimedOut E BT BS b X -> TimedOut"),
    row(
      "G16", [.phases(), .keep(), .timer("t", 30)], [.remove("t", "m"), .run("m", 60)], decision: "Q8",
      cf: "E BT BS BW AW BT BS BW AW X -> TimedOut", rondo: "E BT BS BW AW X -> TimedOut"),
    row(
      "G23", [.phases(), .keep(), .timer("a", 20), .timer("b", 21)], [.busy(30), .run("m", 50)], decision: "Q8",
      cf: "E BT BS BW AW a b BT BS BW AW BT BS BW AW X -> TimedOut",
      rondo: "E BT BS BW AW a b BT BS BW AW X -> TimedOut"),
    row(
      "G36",
      [
        .phases("m", "q"), .keep("m", "q"), .timer("F", 1e6, in: ["m", "q"]), .timer("t", -3),
        .timer("u", -2, in: ["m", "q"]),
        .timer("v", -1, in: ["m", "q"]),
      ], [.busy(1), .run("m", 0)],
      on: [.callout("t", nil, 1, .run("q", 0)), .callout("v", nil, 1, .run("m", 10))], decision: "Q8",
      cf: "E BT BS t ( E BT BS u v ( E BT BS BW AW BT BS BW AW X -> TimedOut ) X -> TimedOut ) X -> TimedOut",
      rondo: "E BT BS t ( E BT BS u v ( E BT BS BW AW X -> TimedOut ) X -> TimedOut ) X -> TimedOut"),
    row(
      "H11", [.timer("a", 1000, in: ["C"])],
      [.probe(.contains("a", "C")), .remove("a", "D"), .probe(.contains("a", "D")), .probe(.contains("a", "C"))],
      decision: "Q14", cf: "a@C=1 a@D=0 a@C=0", rondo: "a@C=1 a@D=0 a@C=1"),
    row(
      "H12", [.observer("a", .all, in: ["C"])], [.remove("a", "D"), .invalidate("a"), .probe(.contains("a", "C"))],
      decision: "Q14", cf: "a@C=1", rondo: "a@C=0"),
    row(
      "H13", [.source("a", in: ["C"])], [.remove("a", "D"), .invalidate("a"), .probe(.contains("a", "C"))],
      decision: "Q14", cf: "a@C=1", rondo: "a@C=0"),
    row(
      "K01",
      [.source("a", in: [], announces: true), .observer("n", .all, in: []), .timer("t", 1000, in: [])],
      [
        .elsewhere([.add("a", "D"), .add("a", "m"), .add("n", "D"), .add("t", "D")]), .endElsewhere,
        .probe(.valid("a")), .probe(.valid("n")), .probe(.valid("t")),
      ], decision: "Q23", cf: "+D +m -D -m valid(a)=1 valid(n)=1 valid(t)=1",
      rondo: "+D +m -D -m valid(a)=1 valid(n)=0 valid(t)=0"),
  ]
}
