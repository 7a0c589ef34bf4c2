import CRondoInspect
import FoundationEssentials
import Glibc

/// What is printed, and what the command ends with.
func fail(_ text: String, status: CInt) -> Never {
  write(2, Printable.text("rondo-inspect: \(text)\n"))
  exit(status)
}

func write(_ descriptor: CInt, _ text: String) {
  var text = text
  text.withUTF8 { bytes in
    var written = 0
    while written < bytes.count {
      let count = unsafe Glibc.write(descriptor, bytes.baseAddress! + written, bytes.count - written)
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return }
      written += count
    }
  }
}

func ask(_ process: pid_t, _ question: String) -> [UInt8] {
  do { return try Process.ask(process, question) } catch { fail("\(error)", status: 1) }
}

/// Prints a form for programs that another process has written.
func pass(_ text: String) { write(1, Printable.text(text, on: 1)) }

func report(_ process: pid_t) -> (text: [UInt8], report: Answer.Report) {
  let text = ask(process, "report")
  do { return (text, try JSONDecoder().decode(Answer.Report.self, from: Data(text))) } catch {
    fail("process \(process) gave an answer that this command does not understand: \(error)", status: 1)
  }
}

func readArguments() -> Arguments {
  do throws(Arguments.Mistake) {
    return try Arguments(Array(CommandLine.arguments.dropFirst()))
  } catch {
    if error == .helpWanted {
      write(1, Arguments.usage)
      exit(0)
    }
    fail("\(error)\n\(Arguments.usage)", status: 2)
  }
}

func findProcess(_ target: String) -> pid_t {
  do { return try Process.find(target) } catch { fail("\(error)", status: 1) }
}

let arguments = readArguments()
let process = findProcess(arguments.target)

switch arguments.request {
case .report: write(1, View.text(report(process).report))
case .json: pass(String(decoding: ask(process, "report"), as: UTF8.self))
case .prometheus: pass(String(decoding: ask(process, "prometheus"), as: UTF8.self))
case .trace(let milliseconds, let isPage):
  let answer = ask(process, "trace \(milliseconds)")
  let trace = String(decoding: answer, as: UTF8.self)
  pass(isPage ? TimelinePage.text(trace, of: arguments.target) : trace)
case .stack:
  let text = ask(process, "stack")
  guard let stacks = try? JSONDecoder().decode([Answer.Stack].self, from: Data(text)) else {
    fail("process \(process) gave an answer that this command does not understand.", status: 1)
  }
  write(1, stacks.map(View.text).joined(separator: "\n"))
case .top(let milliseconds):
  var last: Answer.Report?
  while true {
    let now = report(process).report
    // A terminal is cleared; a file gets one screen after the other.
    if isatty(1) != 0 { write(1, "\u{1B}[H\u{1B}[2J") }
    write(1, View.screen(now, since: last, milliseconds: milliseconds))
    last = now
    usleep(useconds_t(milliseconds * 1_000))
  }
}
