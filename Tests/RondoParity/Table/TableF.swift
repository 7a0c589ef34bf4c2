// Section F: descriptor sources over an eventfd. Where the order of arrival matters the mode is polled first: Rondo asks the
// kernel for a descriptor when a mode waits, not when the source is added.

extension Table {
  static let ports: [Row] = [
    row(
      "F01", [.phases(), .port("A", written: true)], [.runOne("m", 500), .runOne("m", 20)],
      "E BT BS BW AW A X -> HandledSource E BT BS BW AW X -> TimedOut"),
    row(
      "F03", [.phases(), .port("A"), .port("B")], [.run("m", 0), .write("B"), .write("A"), .run("m", 30)],
      "E BT BS X -> TimedOut E BT BS BW AW B BT BS BW AW A BT BS BW AW X -> TimedOut"),
    row(
      "F03b", [.phases(), .port("A"), .port("B")],
      [.run("m", 0), .write("B"), .write("A"), .run("m", 0), .run("m", 0), .run("m", 0)],
      "E BT BS X -> TimedOut E BT BS B X -> TimedOut E BT BS A X -> TimedOut E BT BS X -> TimedOut"),
    row(
      "F03c", [.phases(), .source("z"), .port("A")], [.signal("z"), .write("A"), .runOne("m", 500)],
      "E BT BS z A X -> HandledSource"),
    row(
      "F06", [.phases(), .keep(), .port("A", written: true), .silent("w", .afterWaiting)], [.run("m", 30)],
      on: [.callout("w", nil, 1, .remove("A", "m"))], "E BT BS BW AW BT BS BW AW X -> TimedOut"),
    row(
      "F06 by invalidation", [.phases(), .keep(), .port("A", written: true), .silent("w", .afterWaiting)],
      [.run("m", 30)], on: [.callout("w", nil, 1, .invalidate("A"))], "E BT BS BW AW BT BS BW AW X -> TimedOut"),
    row(
      "F08", [.port("A", order: 9), .port("B", order: 0)], [.run("m", 0), .write("A"), .write("B"), .run("m", 30)],
      "-> TimedOut A B -> TimedOut"),
  ]
}
