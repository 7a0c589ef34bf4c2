// rondo-parity: puts random scenarios to CFRunLoop and to Rondo.
//
//   rondo-parity SEED COUNT [FLAVOUR]
//                                compares, prints what differs and one closing line, fails if the loops differ
//   rondo-parity model SEED COUNT
//                                puts random plays of several loops to Rondo and to a model of it
//   rondo-parity --table         puts every row of the behaviour table to both loops

internal import Glibc

/// Prints the smallest scenario that still differs.
func explain(_ difference: Difference) {
  let shrinker = Shrinker { scenario in
    if case .different = Comparison.confirmed(scenario, tries: 1) { true } else { false }
  }
  let smallest = shrinker.shrink(difference.scenario)
  if case .different(let shown) = Comparison.confirmed(smallest) { print(shown) } else { print(difference) }
}

func compare(seed: UInt64, count: Int, flavour: String?) -> CInt {
  let report = Campaign(seed: seed, count: count, flavour: flavour).run { number in
    if number > 0, number % 10_000 == 0 { print("\(number) of \(count)") }
  }
  for (decision, times) in report.excluded.sorted(by: { $0.key < $1.key }) {
    print("replaced \(times) scenarios in which CFRunLoop showed \(decision)")
  }
  print("put \(report.repeated) again, for the machine was late; \(report.undecided) never got it in time")
  if let first = report.unsettled.first {
    print("\(report.unsettled.count) scenarios gave a new trace each time; the first:\n\(first)")
  }
  for difference in report.differences { print("\(difference)\n") }
  if let smallest = report.differences.min(by: { $0.scenario.size < $1.scenario.size }) { explain(smallest) }
  print("parity: \(count) scenarios, SEED \(seed), \(report.differences.count) differences")
  return report.differences.isEmpty ? 0 : 1
}

func compareWithModel(seed: UInt64, count: Int) -> CInt {
  var differences = 0
  for number in 0..<count {
    let play = PlayGenerator.play(seed: seed, number: number)
    guard play.difference != nil else { continue }
    differences += 1
    guard differences == 1 else { continue }
    let smallest = play.shrunk { $0.difference != nil }
    print("number \(number)\n\(smallest)\n\(smallest.difference!)")
  }
  print("model: \(count) plays, SEED \(seed), \(differences) differences")
  return differences == 0 ? 0 : 1
}

func checkTable(prefix: String) -> CInt {
  var complaints = 0
  let rows = Table.all.filter { $0.id.hasPrefix(prefix) }
  for row in rows {
    for subject in Subject.allCases {
      let complaint = row.verdict(on: subject) { scenario, subject in
        row.id.hasPrefix("J")
          ? MainThreadRows.run(row: row.id, on: subject, executable: MainThreadRows.ownExecutable)
          : Execution.run(scenario, on: subject)
      }
      guard let complaint else { continue }
      complaints += 1
      print(complaint)
    }
  }
  print("table: \(rows.count) rows, \(complaints) complaints")
  return complaints == 0 ? 0 : 1
}

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case MainThreadRows.flag?:
  guard arguments.count == 3, let subject = Subject(rawValue: arguments[3]) else { exit(64) }
  MainThreadRows.runChild(row: arguments[2], subject: subject)
  exit(0)
case "--table"?: exit(checkTable(prefix: arguments.count > 1 ? arguments[2] : ""))
case "model"?:
  guard arguments.count == 3, let seed = UInt64(arguments[2]), let count = Int(arguments[3]) else { exit(64) }
  exit(compareWithModel(seed: seed, count: count))
default:
  guard 2...3 ~= arguments.count, let seed = UInt64(arguments[1]), let count = Int(arguments[2]) else {
    print("usage: rondo-parity SEED COUNT [FLAVOUR] | --table [PREFIX]")
    exit(64)
  }
  exit(compare(seed: seed, count: count, flavour: arguments.count > 2 ? arguments[3] : nil))
}
