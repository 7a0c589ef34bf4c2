import Foundation
import Testing

/// The example `rondo-status`, started by a link, and its successors: the next one is the program that the link names.
final class Lineage {
  let daemon: Daemon
  /// The one that serves.
  private(set) var process: pid_t
  /// It is in the command line of each process, and of none but theirs.
  private let folder: String
  private var link: String { folder + "/rondo-status" }

  /// Whether processes whose parents have ended become children of this one, which reaps them. See prctl(2). Not in the
  /// tests' own process: the library would wait for them, and see no other end.
  private static let adoptsOrphans: Bool = {
    typealias Call = @convention(c) (CInt, UInt, UInt, UInt, UInt) -> CInt
    let prctl = unsafe unsafeBitCast(dlsym(nil, "prctl"), to: Call.self)
    let setChildSubreaper: CInt = 36
    return prctl(setChildSubreaper, 1, 0, 0, 0) == 0
  }()

  /// - Parameter scripts: Of the shell, by their names. The program's own name there is "$PROGRAM".
  init(_ scripts: [String: String] = [:]) throws {
    try #require(Self.adoptsOrphans)
    folder = "/tmp/rondo-status-\(UUID())"
    let files = FileManager.default
    try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try files.createSymbolicLink(atPath: folder + "/program", withDestinationPath: program("rondo-status"))
    for (name, script) in scripts {
      let text = "#!/bin/sh\nPROGRAM=\(folder)/program\ncd \(folder)\n\(script)\n"
      let mode = [FileAttributeKey.posixPermissions: 0o700]
      try #require(files.createFile(atPath: "\(folder)/\(name)", contents: Data(text.utf8), attributes: mode))
    }
    try files.createSymbolicLink(atPath: folder + "/rondo-status", withDestinationPath: "program")
    try #require(files.createFile(atPath: folder + "/errors", contents: nil))
    let errors = try #require(FileHandle(forUpdatingAtPath: folder + "/errors"))
    daemon = try status(as: folder + "/rondo-status", errors: errors)
    process = daemon.identifier
  }

  deinit {
    // One of them may just have started another.
    while let process = processes.first {
      kill(process, SIGKILL)
      while !hasEnded(process) { usleep(1_000) }
    }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Those that have not ended.
  var processes: [pid_t] {
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { pid_t($0) } ?? []
    return numbers.filter { number in
      let words = try? String(contentsOfFile: "/proc/\(number)/cmdline", encoding: .utf8).split(separator: "\0")
      return words?.contains { $0.hasPrefix(folder) } == true
    }
  }

  /// What they have written to stderr, by line.
  var errors: [String] { text(of: "errors").split(separator: "\n").map(String.init) }

  /// What a script has written.
  func text(of file: String) -> String { (try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)) ?? "" }

  /// Has the link name the program, or a script.
  func point(to name: String) throws {
    // The link is never missing.
    try FileManager.default.createSymbolicLink(atPath: folder + "/next", withDestinationPath: name)
    try #require(rename(folder + "/next", link) == 0)
  }

  /// Has it start a successor.
  func begin() { #expect(kill(process, SIGUSR2) == 0) }

  /// Waits until the successor has its place.
  func finish() throws {
    let old = process
    try wait("for the old process to end") { hasEnded(old) }
    let left = processes
    try #require(left.count == 1)
    process = left[0]
  }

  /// Starts a successor of another program, and returns why it does not take over.
  func fail(by name: String) throws -> String {
    try point(to: name)
    let before = errors.count
    begin()
    try wait("for the successor to fail") { errors.count > before }
    try point(to: "program")
    #expect(processes == [process] && errors.count == before + 1)
    let reason = try #require(errors.last?.split(separator: "no successor takes over: ").last)
    return String(reason)
  }

  /// Whether a process has ended; an adopted one is reaped then.
  func hasEnded(_ process: pid_t) -> Bool {
    if process != daemon.identifier { waitpid(process, nil, WNOHANG) }
    guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return true }
    // The first one is reaped by Foundation.
    return process == daemon.identifier && text.split(separator: ")").last?.hasPrefix(" Z") == true
  }
}
