// Section G: timers.

extension Table {
  static let timers: [Row] = [
    row(
      "G01", [.timer("a", -1, order: 9, in: []), .timer("b", -1, order: 0, in: [])],
      [.add("b", "m"), .add("a", "m"), .busy(1), .run("m", 100)], "a b -> Finished"),
    row(
      "G02", [.timer("t", 50, every: 50)], [.run("m", 330)], on: [.callout("t", nil, 1, .busy(120))],
      notBefore: ["t": [50, 200, 250, 300]], "t t t t -> TimedOut"),
    row(
      "G03", [.timer("t", 20, every: 20)], [.run("m", 147)],
      on: [.callout("t", nil, 1, .setFireDate("t", milliseconds: 57))], notBefore: ["t": [20, 77, 97, 117, 137]],
      "t t t t t -> TimedOut"),
    row(
      "G03b", [.timer("t", 50, every: 50)], [.run("m", 185)],
      on: [.callout("t", nil, 1, .busy(10), .setFireDate("t", milliseconds: -5))],
      notBefore: ["t": [50, 60, 110, 160]], "t t t t -> TimedOut"),
    row(
      "G03c", [.timer("t", 200, every: 50)], [.setFireDate("t", milliseconds: 20), .run("m", 95)],
      notBefore: ["t": [20, 70]], "t t -> TimedOut"),
    row(
      "G05", [.phases(), .timer("t1", 5), .timer("t2", -1, in: [])], [.run("m", 500)],
      on: [.callout("t1", nil, 1, .add("t2", "m"))], "E BT BS BW AW t1 BT BS BW AW t2 X -> Finished"),
    row(
      "G06", [.keep(), .timer("a", -2), .timer("b", -1)], [.busy(1), .run("m", 0), .run("m", 0)],
      on: [.callout("a", nil, 1, .invalidate("b"))], "a -> TimedOut -> TimedOut"),
    row(
      "G06c", [.keep(), .timer("a", -2), .timer("b", -1)], [.busy(1), .run("m", 0), .run("m", 0)],
      on: [.callout("a", nil, 1, .remove("b", "m"))], "a -> TimedOut -> TimedOut"),
    row(
      "G06d", [.keep(), .timer("a", -2), .timer("b", -1)], [.busy(1), .run("m", 0), .run("m", 80)],
      on: [.callout("a", nil, 1, .setFireDate("b", milliseconds: 20))], "a -> TimedOut b -> TimedOut"),
    row(
      "G13", [.keep(), .timer("A", 20, every: 20), .timer("B", 50)], [.run("m", 170)],
      on: [.callout("A", nil, 1, .run("m", 90))], notBefore: ["A": [20, 120, 140, 160], "B": [50]],
      "A ( B -> TimedOut ) A A A -> TimedOut"),
    row(
      "G17", [.keep(), .timer("a", 5000, in: []), .timer("b", 3000, in: [])],
      [.probe(.hasFireDate("m")), .add("a", "m"), .add("b", "m"), .probe(.hasFireDate("m"))],
      "date(m)=0 date(m)=1"),
    row(
      "G18", [.timer("t", -70, every: 100)], [.run("m", 250)], notBefore: ["t": [0, 100, 200]], "t t t -> TimedOut"),
    row(
      "G24", [.phases(), .keep(), .timer("a", 10), .timer("b", 20)], [.run("m", 100)],
      on: [.callout("a", nil, 1, .busy(30))], "E BT BS BW AW a BT BS BW AW b BT BS BW AW X -> TimedOut"),
    row(
      "G25", [.phases(), .timer("t", 10, every: 20)], [.run("m", 500)], on: [.callout("t", nil, 1, .invalidate("t"))],
      "E BT BS BW AW t X -> Finished"),
    row(
      "G26", [.timer("t", 20, every: 20)], [.run("m", 500)],
      on: [
        .callout("t", nil, 1, .remove("t", "m"), .add("t", "m")),
        .callout("t", nil, 2, .remove("t", "m"), .add("t", "m")),
        .callout("t", nil, 3, .remove("t", "m")),
      ], notBefore: ["t": [20, 40, 60]], "t t t -> Finished"),
    row(
      "G27", [.timer("t", 1000)],
      [
        .elsewhere([.add("t", "m"), .probe(.contains("t", "m"))]), .probe(.contains("t", "m")), .remove("t", "m"),
        .elsewhere([.add("t", "m"), .probe(.contains("t", "m"))]), .probe(.contains("t", "m")),
      ], "t@m=0 t@m=1 t@m=1 t@m=0"),
    row(
      "G28", [.timer("t", 40, every: 40, in: ["m", "q"])], [.run("m", 100), .run("q", 80)],
      notBefore: ["t": [40, 80, 120, 160]], "t t -> TimedOut t t -> TimedOut"),
    row("G32", [.timer("t", 5, every: 1e15)], [.run("m", 40)], "t -> TimedOut"),
    row(
      "G33", [.timer("t", 10, every: 50)], [.run("m", 500)],
      on: [.callout("t", nil, 1, .invalidate("t"), .run("m", 20))], "t ( -> Finished ) -> Finished"),
    row(
      "G34", [.phases(), .keep(), .timer("t", -1, in: []), .silent("w", .beforeWaiting)], [.run("m", 40)],
      on: [.callout("w", nil, 1, .add("t", "m"))], "E BT BS BW AW t BT BS BW AW X -> TimedOut"),
    row(
      "G35", [.phases(), .source("a"), .timer("t", 10)], [.signal("a"), .run("m", 60)],
      on: [.callout("a", nil, 1, .busy(15))], "E BT BS a t BT BS BW AW X -> TimedOut"),
  ]
}
