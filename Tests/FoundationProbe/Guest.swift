import Rondo
import RondoFoundation
import RondoGuests

/// A foreign loop that is Rondo's guest is served in the runs of both loops, in whichever its dates and bytes come.
func serveGuest() {
  touchFoundation()
  let report = Report()
  let other = OtherLoop(report)
  let guest = try! Loop.GuestLoop(descriptor: other.reader, wait: { other.wait() }, dispatch: { other.dispatch() })
  Loop.current.add(guest, to: .common)
  var count = 0
  func expectOne(_ run: (() -> Bool) -> Void) {
    count += 1
    run {
      if let reason = guest.invalidationReason { fatalError("The guest is not watched: \(reason)") }
      return report.count == count
    }
  }
  // A date that has come ends no run by itself.
  let rondo = { (isOver: () -> Bool) in
    other.hasServed = { Loop.current.stop() }
    while !isOver() { RunLoop.current.run(until: Date(timeIntervalSinceNow: 5)) }
    other.hasServed = {}
  }
  let foundation = { (isOver: () -> Bool) in runFoundation { isOver() } }
  for (name, run) in [("Rondo's", rondo), ("Foundation's", foundation)] {
    other.note = "a date in a run of \(name)"
    other.date = Date(timeIntervalSinceNow: 0.01)
    expectOne(run)
    other.note = "a byte in a run of \(name)"
    let writer = other.writer
    after(0.01) { _ = write(writer, [0], 1) }
    expectOne(run)
  }
  other.note = "a date that a timer of Foundation's has set"
  onFoundationTimer(after: 0.01) { other.date = Date(timeIntervalSinceNow: 0.01) }
  expectOne(foundation)
  other.note = "a date that a timer of Rondo's has set, in a run of Foundation's"
  Loop.current.add(Loop.Timer(after: .milliseconds(10)) { _ in other.date = Date(timeIntervalSinceNow: 0.01) })
  expectOne(foundation)
  report.printSorted()
  print("early \(other.isEarly)", RunLoop.current.foundationStatus)
}

/// A loop of the plainest kind: one date, one pipe.
private final class OtherLoop {
  let reader: CInt
  let writer: CInt
  /// When it is to be dispatched next, but for bytes.
  var date: Date?
  /// What it reports when it is.
  var note = ""
  var hasServed = {}
  /// Whether it was dispatched without a byte, before its date.
  private(set) var isEarly = false
  private let report: Report

  init(_ report: Report) {
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0, fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 else {
      fatalError("No pipe: \(String(cString: strerror(errno)))")
    }
    (reader, writer) = (ends[0], ends[1])
    self.report = report
  }

  func wait() -> Loop.GuestLoop.Wait {
    guard let date else { return .forever }
    return .atMost(.seconds(max(0, date.timeIntervalSinceNow)))
  }

  func dispatch() {
    var byte: UInt8 = 0
    if read(reader, &byte, 1) == 1 { return serve() }
    guard let due = date else { return }
    // Dates are of another clock than the loop's, which may differ by what it takes to read both.
    if due.timeIntervalSinceNow > 0.001 {
      isEarly = true
    } else {
      date = nil
      serve()
    }
  }

  private func serve() {
    report.add(note)
    hasServed()
  }
}
