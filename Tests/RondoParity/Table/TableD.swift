// Section D: observers.

extension Table {
  static let observers: [Row] = [
    row(
      "D01",
      [
        .keep(), .observer("5a", .beforeTimers, order: 5), .observer("-1a", .beforeTimers, order: -1),
        .observer("5b", .beforeTimers, order: 5), .observer("0a", .beforeTimers), .observer("0b", .beforeTimers),
        .observer("-1b", .beforeTimers, order: -1),
      ], [.run("m", 0)], "-1a:BT -1b:BT 0a:BT 0b:BT 5a:BT 5b:BT -> TimedOut"),
    row(
      "D02", [.keep(), .observer("n", .all, repeats: false)],
      [.run("m", 10), .probe(.valid("n")), .probe(.contains("n", "m"))],
      on: [.callout("n", nil, 1, .probe(.valid("n")))],
      "n:E valid(n)=1 -> TimedOut valid(n)=0 n@m=0"),
    row(
      "D04", [.keep(), .observer("A", .beforeTimers), .observer("B", [.beforeTimers, .beforeSources], order: 1)],
      [.run("m", 0)], on: [.callout("A", nil, 1, .invalidate("B"))], "A:BT -> TimedOut"),
    row(
      "D05",
      [.keep(), .observer("A", .beforeTimers), .observer("B", [.beforeTimers, .beforeSources], order: 1, in: [])],
      [.run("m", 0)], on: [.callout("A", nil, 1, .add("B", "m"))], "A:BT B:BS -> TimedOut"),
    row(
      "D06", [.keep(), .observer("A", .all), .observer("B", .all)], [.run("m", 0)],
      on: [.callout("A", .beforeTimers, 1, .run("m", 0))],
      "A:E B:E A:BT ( B:E B:BT B:BS B:X -> TimedOut ) B:BT A:BS B:BS A:X B:X -> TimedOut"),
    row(
      "D07", [.observer("n", .all)],
      [
        .elsewhere([.add("n", "m"), .probe(.contains("n", "m"))]), .remove("n", "m"),
        .elsewhere([.add("n", "m"), .probe(.contains("n", "m"))]), .probe(.contains("n", "m")),
      ], "n@m=0 n@m=1 n@m=0"),
    row(
      "D09", [.keep(), .observer("n", .all)], [.add("n", "m"), .run("m", 0)], "n:E n:BT n:BS n:X -> TimedOut"),
    row(
      "D11", [.keep("D"), .observer("n", .all, in: ["D", "C"])],
      [.run("D", 0), .remove("n", "D"), .probe(.contains("n", "C")), .run("D", 0)],
      "n:E n:BT n:BS n:X -> TimedOut n@C=1 -> TimedOut"),
    row(
      "D12", [.phases(), .keep(), .observer("n", Phases(rawValue: 24))], [.run("m", 10)], "E BT BS BW AW X -> TimedOut"),
    row(
      "D13", [.phases("m", "q"), .keep("m", "q"), .silent("w", .exit)], [.run("m", 0)],
      on: [.callout("w", nil, 1, .run("q", 0))], "E BT BS X ( E BT BS X -> TimedOut ) -> TimedOut"),
  ]
}
