import Foundation
import Synchronization

/// Rounds in processes of their own: this program again, asked for one round.
enum Child {
  /// Runs `body` for every element at the same time.
  static func each<Element: Sendable, Output: Sendable>(
    _ elements: [Element], _ body: @escaping @Sendable (Element) -> Output
  ) -> [Output] {
    let outputs = Mutex([Output?](repeating: nil, count: elements.count))
    let group = DispatchGroup()
    for (index, element) in elements.enumerated() {
      group.enter()
      Thread.detachNewThread {
        let output = body(element)
        outputs.withLock { $0[index] = output }
        group.leave()
      }
    }
    group.wait()
    return outputs.withLock { $0.map { $0! } }
  }

  /// One round of a subject.
  static func round(of workload: any Workload, _ subject: any Subject, size: Int) -> Result<Round, Refusal> {
    let arguments = ["once", workload.name, subject.name, String(size)]
    let result = run(executable, arguments)
    guard result.status == 0 else { return .failure(.failed(lastLine(of: result))) }
    guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(result.output.utf8)) else {
      return .failure(.failed("its process printed no figures: \(lastLine(of: result))"))
    }
    return answer.result
  }

  /// System calls for each event: the difference of two runs under strace, over all threads.
  static func systemCalls(
    of workload: any Workload, _ subject: any Subject, _ counting: Counting
  ) -> Result<Double, Refusal> {
    Result { () throws(Refusal) in
      let small = try trace(workload, subject, size: counting.small, except: counting.harness)
      let large = try trace(workload, subject, size: counting.large, except: counting.harness)
      guard large.events > small.events else { throw .failed("as many events in the longer run") }
      return Double(large.calls - small.calls) / Double(large.events - small.events) * counting.per
    }
  }

  /// What a child prints.
  struct Answer: Codable {
    var round: Round?
    var events: Int?
    var refusal: Refusal?

    var result: Result<Round, Refusal> {
      round.map { .success($0) } ?? .failure(refusal ?? .failed("no figures"))
    }
  }

  private static func trace(
    _ workload: any Workload, _ subject: any Subject, size: Int, except harness: Set<String>
  ) throws(Refusal) -> (calls: Int, events: Int) {
    let file = temporaryFile()
    defer { try? FileManager.default.removeItem(atPath: file) }
    let arguments = ["strace", "-f", "-c", "-o", file, executable]
    let once = ["once", "--counted", workload.name, subject.name, String(size)]
    let result = run("/usr/bin/env", arguments + once)
    if result.status == 127 { throw .absent("install strace") }
    guard result.status == 0, let answer = try? JSONDecoder().decode(Answer.self, from: Data(result.output.utf8)) else {
      throw .failed("strace: \(lastLine(of: result))")
    }
    if let refusal = answer.refusal { throw refusal }
    guard let events = answer.events, let table = try? String(contentsOfFile: file, encoding: .utf8) else {
      throw .failed("strace left no table")
    }
    return (StraceTable(table).total(except: harness), events)
  }

  private static func temporaryFile() -> String {
    FileManager.default.temporaryDirectory.appending(path: "rondo-bench-\(UUID().uuidString)").path
  }

  /// This program.
  static let executable =
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]

  static func run(_ command: String, _ arguments: [String]) -> (status: Int32, output: String, errors: String) {
    let process = Process()
    process.executableURL = URL(filePath: command)
    process.arguments = arguments
    let output = Pipe()
    let errorFile = temporaryFile()
    _ = FileManager.default.createFile(atPath: errorFile, contents: nil)
    defer { try? FileManager.default.removeItem(atPath: errorFile) }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle(forWritingAtPath: errorFile)
    do { try process.run() } catch { return (-1, "", "\(error)") }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text, (try? String(contentsOfFile: errorFile, encoding: .utf8)) ?? "")
  }

  private static func lastLine(of result: (status: Int32, output: String, errors: String)) -> String {
    let lines = (result.errors + result.output).split(separator: "\n")
    return "status \(result.status)" + (lines.last.map { ", \($0)" } ?? "")
  }
}

/// The table that `strace -c` prints.
struct StraceTable {
  private var calls: [String: Int] = [:]

  init(_ text: String) {
    for line in text.split(separator: "\n") {
      // % time, seconds, usecs/call, calls, perhaps errors, syscall
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      guard fields.count >= 5, Double(fields[0]) != nil, let count = Int(fields[3]), fields.last != "total" else {
        continue
      }
      calls[String(fields[fields.count - 1]), default: 0] += count
    }
  }

  func total(except excluded: Set<String>) -> Int {
    calls.reduce(0) { excluded.contains($1.key) ? $0 : $0 + $1.value }
  }
}
