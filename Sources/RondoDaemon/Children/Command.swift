import CDaemon
import Glibc

extension ChildSource {
  /// A program to start, with its arguments, environment and streams.
  public struct Command: Hashable, Sendable {
    /// The file to execute; a name without a slash is looked for in PATH.
    public var executable: String
    /// What follows the program's name.
    public var arguments: [String]
    /// Its whole environment. Nil is this process's own, without what systemd meant for this process alone.
    public var environment: [String: String]?
    /// The directory it begins in; nil for this process's.
    public var directory: String?
    /// Its standard streams.
    public var input = Stream.inherited, output = Stream.inherited, error = Stream.inherited
    /// Whether it leads a process group of its own. A terminal's keys do not reach it then.
    public var leadsGroup = false

    /// Where a standard stream leads.
    public enum Stream: Hashable, Sendable {
      /// Where this process's own one leads.
      case inherited
      /// To /dev/null.
      case null
      /// To an open descriptor, which stays the caller's.
      case descriptor(CInt)

      fileprivate var number: CInt {
        switch self {
        case .inherited: -1
        case .null: -2
        // A number that never stands for an open file is the kernel's to refuse.
        case .descriptor(let descriptor): descriptor < 0 ? .max : descriptor
        }
      }
    }

    public init(_ executable: String, _ arguments: [String] = []) {
      self.executable = executable
      self.arguments = arguments
    }
  }
}

extension ChildSource.Command {
  /// Starts it.
  ///
  /// - Returns: The child's number.
  func spawn() throws(ChildError) -> CInt {
    let variables = environment?.map { "\($0)=\($1)" }
    for text in [executable, directory ?? ""] + arguments + (variables ?? []) where text.utf8.contains(0) {
      throw .containsZero(text)
    }
    let result = unsafe withTexts([executable] + arguments) { arguments in
      unsafe withTexts(variables) { environment in
        unsafe withTexts([executable] + (directory.map { [$0] } ?? [])) { names in
          var command = unsafe rondo_command()
          unsafe command.executable = UnsafePointer(names![0])
          unsafe command.directory = UnsafePointer(names![1])
          unsafe command.arguments = UnsafePointer(arguments!)
          unsafe command.environment = UnsafePointer(environment)
          unsafe command.streams = (input.number, output.number, error.number)
          unsafe command.leads_group = leadsGroup ? 1 : 0
          return unsafe rondo_spawn(&command)
        }
      }
    }
    if result < 0 { throw ChildError(starting: executable, -result) }
    return result
  }

  /// Runs `body` with a list of C strings that ends with NULL; with NULL for no list.
  private func withTexts(
    _ texts: [String]?, _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt
  ) -> CInt {
    guard let texts else { return body(nil) }
    var copies = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { for index in texts.indices { unsafe free(copies[index]) } }
    return unsafe copies.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress) }
  }
}
