// Section J: the main thread and its dispatch queue. Each row needs a process of its own.

extension Table {
  private static let phases = Scenario.Item.phases("D")

  static let mainQueue: [Row] = [
    row("J01", [], [.run("D", 0), .run("D", 20), .runOne("D", 20)], "-> TimedOut -> TimedOut -> TimedOut"),
    row("J02", [phases], [.onMainQueue("g"), .runOne("D", 500)], "E BT BS BW AW g X -> HandledSource"),
    row("J02b", [phases], [.onMainQueue("g"), .run("D", 30)], "E BT BS BW AW g BT BS BW AW X -> TimedOut"),
    row("J02c", [phases], [.onMainQueue("g"), .run("D", 0)], "E BT BS g X -> TimedOut"),
    row(
      "J03", [phases], [.onMainQueue("g"), .run("D", 0)], on: [.callout("g", nil, 1, .run("D", 50))],
      "E BT BS g ( -> Finished ) X -> TimedOut"),
    row(
      "J03b", [phases, .timer("t", 1, in: [])], [.onMainQueue("g"), .run("D", 60)],
      on: [
        .callout("g", nil, 1, .onMainQueue("g2"), .add("t", "D"), .setFireDate("t", milliseconds: 10), .run("D", 50))
      ],
      "E BT BS BW AW g ( E BT BS BW AW t X -> Finished ) BT BS BW AW g2 BT BS BW AW X -> TimedOut"),
    row(
      "J04", [.phases("D", "m"), .keep()], [.onMainQueue("g"), .run("m", 20), .run("D", 0)],
      "E BT BS BW AW X -> TimedOut E BT BS g X -> TimedOut"),
    row(
      "J05", [.source("a", in: [])],
      [.commonMode("n"), .run("n", 20), .add("a", "n"), .onMainQueue("g"), .run("n", 0)],
      "-> Finished g -> TimedOut"),
    row(
      "J06", [phases], [.onMainQueue("g1"), .run("D", 30)],
      on: [.callout("g1", nil, 1, .onMainQueue("g2")), .callout("g2", nil, 1, .onMainQueue("g3"))],
      "E BT BS BW AW g1 BT BS BW AW g2 BT BS BW AW g3 BT BS BW AW X -> TimedOut"),
    row(
      "J06b", [phases],
      [.onMainQueue("g1"), .onMainQueue("g2"), .onMainQueue("g3"), .runOne("D", 500), .runOne("D", 0)],
      "E BT BS BW AW g1 g2 g3 X -> HandledSource E BT BS X -> TimedOut"),
    row(
      "J07", [phases, .timer("t", -1, in: ["D"])], [.busy(1), .onMainQueue("g"), .run("D", 30)],
      "E BT BS BW AW t BT BS g BT BS BW AW X -> TimedOut"),
    row(
      "J08", [phases, .timer("t", 5, in: ["D"])], [.run("D", 30)],
      on: [.callout("t", nil, 1, .onMainQueue("g"), .runOne("D", 20))],
      "E BT BS BW AW t ( E BT BS BW AW g X -> HandledSource ) BT BS BW AW X -> TimedOut"),
    row(
      "J10", [phases], [.onMainQueue("g"), .run("D", 500)], on: [.callout("g", nil, 1, .stop)],
      "E BT BS BW AW g X -> Stopped"),
    row(
      "J11", [phases, .source("a", in: ["D"])], [.signal("a"), .onMainQueue("g"), .run("D", 30)],
      "E BT BS a g BT BS BW AW X -> TimedOut"),
    row(
      "J11 returning", [phases, .source("a", in: ["D"])], [.signal("a"), .onMainQueue("g"), .runOne("D", 30)],
      "E BT BS a g X -> HandledSource"),
    row(
      "J12", [phases], [.run("D", 0), .run("missing", 0), .run("C", 0)],
      "E BT BS X -> TimedOut -> Finished -> Finished"),
    row(
      "J13", [phases], [.onMainQueue("g"), .run("D", 30)], on: [.callout("g", nil, 1, .block("b", "D"))],
      "E BT BS BW AW g b BT BS BW AW X -> TimedOut"),
    row(
      "J14", [.phases(), .keep(), .timer("t", 5)], [.run("m", 30), .run("m", 0)],
      on: [.callout("t", nil, 1, .commonMode("m"), .onMainQueue("g"))],
      "E BT BS BW AW t BT BS BW AW X -> TimedOut E BT BS g X -> TimedOut"),
    row(
      "J15", [.phases(), .timer("t", 5)], [.run("m", 30)], on: [.callout("t", nil, 1, .commonMode("m"))],
      "E BT BS BW AW t BT BS BW AW X -> TimedOut"),
  ]
}
