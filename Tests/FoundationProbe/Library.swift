import CTests
import Rondo
import RondoFoundation
import RondoGuests

/// A library on libevent is served in the runs of both loops, in whichever it has set its timeouts.
func serveLibrary() {
  touchFoundation()
  let report = Report()
  setTimeout(of: report) { note("in a run of Rondo's", $0) }
  while report.count < 1 { RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 20)) }
  setTimeout(of: report) { note("in a run of Foundation's", $0) }
  runFoundation { report.count == 2 }
  onFoundationTimer(after: 0.01) {
    setTimeout(of: report) { note("set in a timer of Foundation's", $0) }
  }
  runFoundation { report.count == 3 }
  report.printSorted()
  print(RunLoop.current.foundationStatus)
}

private func setTimeout(of report: Report, _ call: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) {
  try! Loop.current.withEventBase { base in
    _ = foreign_timeout(base, 10, call, Unmanaged.passRetained(report).toOpaque())
  }
}

private func note(_ line: String, _ report: UnsafeMutableRawPointer?) {
  Unmanaged<Report>.fromOpaque(report!).takeRetainedValue().add(line)
}
