import CBench
import Foundation

/// A process from its start to its first callout: a program for each subject, that has one timer of no delay.
///
/// SwiftPM links libswiftCore and what that needs to programs in C as well, which need it not: what they show is more
/// than they would take by themselves.
struct Start: Workload {
  let name = "start"
  let summary = "process start to first callout, linked libraries, size of the program"

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: 1)
    case .full: Plan(rounds: 25, size: 4)
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    // A variant of Rondo is a way to use it, not another program.
    if subject.name != Subjects.ours, Subjects.isOurs(subject.name) { throw .cannot("starts as \(Subjects.ours) does") }
    if subject.name != Subjects.limit, Subjects.isLimit(subject.name) {
      throw .cannot("has one timer and nothing else")
    }
    let program = URL(filePath: Child.executable).deletingLastPathComponent()
      .appending(path: "start-\(subject.name.replacing(".", with: "-"))").path
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw .absent("\(program) is not built; make bench builds it")
    }
    var times: [Int64] = []
    for _ in 0..<size {
      var nanoseconds: Int64 = 0
      switch bench_start_program(program, &nanoseconds) {
      case 0: times.append(nanoseconds)
      case 3: throw .absent("its program was built without its library")
      case let status: throw .failed("its program ended with status \(status)")
      }
    }
    return Round([Part(times: times, gauges: gauges(of: program))])
  }

  private func gauges(of program: String) -> [Gauge] {
    var gauges: [Gauge] = []
    // The dynamic linker lists what it would load, one a line, and runs nothing.
    let list = Child.run("/usr/bin/env", ["LD_TRACE_LOADED_OBJECTS=1", program])
    if list.status == 0 {
      let libraries = list.output.split(separator: "\n").filter { $0.contains("=>") }
      gauges.append(Gauge(metric: "libraries", unit: "", value: Double(libraries.count)))
    }
    let attributes = try? FileManager.default.attributesOfItem(atPath: program)
    if let size = attributes?[.size] as? NSNumber {
      gauges.append(Gauge(metric: "size", unit: "KiB", value: (size.doubleValue / 1024).rounded()))
    }
    return gauges
  }
}
