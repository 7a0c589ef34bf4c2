import CLinux
import CRondoDaemon
import Glibc
import Rondo

extension ChildSource {
  /// A program to start, with its arguments, environment and streams.
  public struct Command: Hashable, Sendable {
    /// The file to execute. A name without a slash is searched in PATH.
    public var executable: String
    /// The arguments after the program's name.
    public var arguments: [String]
    /// The whole environment. Nil is this process's own, without systemd's variables for this process.
    public var environment: [String: String]?
    /// The directory that the child begins in; nil for this process's own.
    public var directory: String?
    /// The child's standard streams.
    public var input = Stream.inherited, output = Stream.inherited, error = Stream.inherited
    /// Whether the child leads a process group of its own. A terminal's keys then do not signal it, and
    /// ``ChildSource/sendToGroup(_:)`` signals it and the processes that it starts.
    public var leadsGroup = false

    /// The target of a standard stream.
    public enum Stream: Hashable, Sendable {
      /// The same file as the stream of this process; /dev/null if that is closed.
      case inherited
      /// /dev/null.
      case null
      /// An open descriptor, which stays yours.
      case descriptor(CInt)
      /// A pipe to this process, which the async functions of a command make: see ``RunningChild``.
      case piped
      /// For `input`: a file in memory with these bytes. See memfd_create(2).
      case bytes([UInt8])

      fileprivate var number: CInt {
        switch self {
        case .inherited: return -1
        case .null: return -2
        // A number that never stands for an open file is the kernel's to refuse.
        case .descriptor(let descriptor): return descriptor < 0 ? .max : descriptor
        case .piped, .bytes:
          require(self != .piped, "A pipe needs its other end. Start the command by run(on:_:) or run(collecting:on:).")
          fatalError("Bytes are for a child's input, and not for what it prints.")
        }
      }
    }

    /// Makes a command. Its other properties have their defaults.
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
    var input = input
    var file: CInt?
    defer { if let file { rondo_close(file) } }
    if case .bytes(let bytes) = input {
      let result = unsafe bytes.withUnsafeBytes { unsafe rondo_bytes_file($0.baseAddress, $0.count) }
      if result < 0 { throw ChildError(starting: self, -result) }
      (file, input) = (result, .descriptor(result))
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
    if result < 0 { throw ChildError(starting: self, -result) }
    return result
  }
}

/// Runs `body` with a list of C strings that ends with NULL; with NULL for no list.
func withTexts(
  _ texts: [String]?, _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt
) -> CInt {
  guard let texts else { return body(nil) }
  var copies = unsafe texts.map { unsafe strdup($0) } + [nil]
  defer { for index in texts.indices { unsafe free(copies[index]) } }
  return unsafe copies.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress) }
}
