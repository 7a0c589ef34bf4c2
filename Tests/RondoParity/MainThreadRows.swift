internal import Glibc

/// Runs one row on the main thread of a child process, since each row uses the process's only main loop up.
package enum MainThreadRows {
  /// The command-line word the child is recognised by.
  package static let flag = "--on-main-thread"

  /// In the child, on its main thread: prints the trace.
  package static func runChild(row id: String, subject: Subject) {
    guard let row = Table.all.first(where: { $0.id == id }) else { preconditionFailure("no row \(id)") }
    print(Execution.runHere(row.scenario, on: subject).text)
  }

  /// Starts `executable` for one row and reads what it printed.
  package static func run(row id: String, on subject: Subject, executable: String) -> Outcome {
    let words: [String] = [executable, flag, id, subject.rawValue]
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
    unsafe arguments.append(nil)
    defer {
      for index in words.indices { unsafe free(arguments[index]) }
    }
    var ends: [CInt] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { return Outcome(tokens: ["no pipe"]) }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    unsafe posix_spawn_file_actions_addclose(&actions, ends[0])
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    var child = pid_t()
    let failure = unsafe posix_spawn(&child, executable, &actions, nil, arguments, environ)
    close(ends[1])
    defer { close(ends[0]) }
    guard failure == 0 else { return Outcome(tokens: ["no child: error \(failure)"]) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe read(ends[0], &buffer, buffer.count)
      guard count > 0 else { break }
      text += buffer[..<count]
    }
    var status: CInt = 0
    unsafe waitpid(child, &status, 0)
    let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
    return Outcome(tokens: status == 0 ? [line] : [line, "ended with status \(status)"])
  }

  /// This process's own executable.
  package static var ownExecutable: String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/exe", &path, path.count)
    return String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
