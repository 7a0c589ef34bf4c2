import CBench
import Foundation

extension Environment {
  /// Reads this machine. Made when a run begins, so that the load is not the run's own.
  init(effort: Effort) {
    kernel = Self.contents("/proc/sys/kernel/osrelease") ?? "unknown"
    cpus = Processors().all.count
    processor = Self.processorName ?? "unknown"
    clocksource = Self.contents("/sys/devices/system/clocksource/clocksource0/current_clocksource") ?? "unknown"
    governor = Self.contents("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    load = (bench_load() * 100).rounded() / 100
    swift = Self.compilerVersion ?? "unknown"
    #if DEBUG
      build = "debug"
    #else
      build = "release"
    #endif
    self.effort = effort.rawValue
    date = Date.now.formatted(.iso8601)
    versions = Dictionary(
      uniqueKeysWithValues: Subjects.all.compactMap { subject in
        subject.version.map { (subject.name, $0) }
      })
  }

  /// The environment in words, for the head of a table.
  var text: String {
    var facts = ["Linux \(kernel)", "\(cpus) × \(processor)", "clocksource \(clocksource)"]
    if let governor { facts.append("governor \(governor)") }
    facts += ["load \(load)", "Swift \(swift) \(build)", effort, date]
    let peers = (versions ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    return ([facts.joined(separator: ", ")] + (peers.isEmpty ? [] : [peers.joined(separator: ", ")]))
      .joined(separator: "\n")
  }

  private static func contents(_ path: String) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The toolchain on the path, which is the one that built this when run by `swift run`.
  private static var compilerVersion: String? {
    let compiler = Process()
    let output = Pipe()
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    compiler.arguments = ["swift", "--version"]
    (compiler.standardOutput, compiler.standardError) = (output, FileHandle.nullDevice)
    guard (try? compiler.run()) != nil else { return nil }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    compiler.waitUntilExit()
    return text.firstMatch(of: /Swift version (\S+)/).map { String($0.1) }
  }

  private static var processorName: String? {
    let lines = contents("/proc/cpuinfo")?.split(separator: "\n") ?? []
    let line = lines.first { $0.hasPrefix("model name") }
    return line?.split(separator: ":").last?.trimmingCharacters(in: .whitespaces)
  }
}
