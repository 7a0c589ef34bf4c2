import Foundation
import Synchronization
import Testing

// The tests of rondo-status have this file, too.

/// An example server in a process of its own, at an address of its own. It is killed with the last reference to it.
final class Daemon: Sendable {
  /// Where it listens: every address that begins with 127 is this machine's. The next seven ports are its own, too.
  let address: sockaddr_in
  /// The same, as its argument.
  let name: String
  /// How many descriptors it may have open.
  private let limit: Int
  private let process: Mutex<Process>
  /// What it prints.
  private let output = Pipe()

  /// How long anything may take before it is called hung. Nothing takes a hundredth of it.
  static let patience: TimeInterval = 240
  private static let started = Atomic<UInt16>(0)

  /// - Parameter example: Its name, or its path. Its first argument is the address.
  /// - Parameter arguments: Further arguments.
  /// - Parameter descriptors: How many it may have open.
  /// - Parameter errors: Where it writes its errors.
  init(_ example: String, _ arguments: String..., descriptors: Int = 1024, errors: FileHandle = .nullDevice) throws {
    limit = descriptors
    let number = Self.started.wrappingAdd(1, ordering: .relaxed).newValue
    let own = UInt32(getpid())
    let port = 7000 + 8 * number
    // Two test processes at a time have two numbers, so neither can take the other's place.
    let host = 127 << 24 | (16 + own >> 16 & 63) << 16 | own & 0xffff
    address = sockaddr_in(
      sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian, sin_addr: in_addr(s_addr: host.bigEndian),
      sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
    name = [24, 16, 8, 0].map { "\(host >> $0 & 255)" }.joined(separator: ".") + ":\(port)"
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments =
      ["-c", "ulimit -n \(descriptors); exec \"$0\" \"$@\"", try program(example), name] + arguments
    process.standardInput = FileHandle.nullDevice
    // If the tests crash, the daemon must not hold their output open: its reader would wait for the end in vain.
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    self.process = Mutex(process)
    // From here on SIGTERM has a handler; before, it would end the process by itself.
    try wait("for the daemon to take SIGTERM over") { try statusNumber("SigCgt", radix: 16) & 1 << 14 != 0 }
  }

  deinit {
    process.withLock { process in
      guard process.isRunning else { return }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
  }

  var identifier: pid_t { process.withLock { $0.processIdentifier } }

  /// The first line that it prints, as soon as it is there.
  func firstLine() throws -> String {
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
    return String(decoding: line, as: UTF8.self)
  }

  /// How it ended, after a signal: its exit status.
  func terminate(by signal: CInt = SIGTERM) throws -> Int32 {
    #expect(kill(identifier, signal) == 0)
    try wait("for the daemon to end") { !process.withLock { $0.isRunning } }
    return process.withLock {
      #expect($0.terminationReason == .exit)
      return $0.terminationStatus
    }
  }

  // MARK: - What the kernel says of it

  /// How many numbers below the limit are taken. Above it there may be what the tests' process had open.
  var openDescriptors: Int {
    get throws {
      let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(identifier)/fd")
      return names.count { Int($0)! < limit }
    }
  }

  /// How many sockets are open: Dispatch, which the runtime's pool is on, opens other descriptors when it is first used.
  var openSockets: Int {
    get throws {
      let folder = "/proc/\(identifier)/fd/"
      return try FileManager.default.contentsOfDirectory(atPath: folder).count {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + $0))?.hasPrefix("socket:") == true
      }
    }
  }

  /// In bytes.
  var residentMemory: Int {
    get throws { try statusNumber("VmRSS") * 1024 }
  }

  /// In seconds.
  var processorTime: Double {
    get throws {
      let text = try String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
      let fields = try #require(text.split(separator: ")").last).split(separator: " ")
      let ticks = try #require(Int(fields[11])) + #require(Int(fields[12]))
      return Double(ticks) / Double(sysconf(CInt(_SC_CLK_TCK)))
    }
  }

  private func statusNumber(_ name: String, radix: Int = 10) throws -> Int {
    let lines = try String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8).split(separator: "\n")
    let line = try #require(lines.first { $0.hasPrefix("\(name):") }, "the daemon has no \(name)")
    return try #require(Int(line.split(whereSeparator: \.isWhitespace)[1], radix: radix))
  }
}

/// An example, which is built into the directory of the tests. A path stays as it is.
func program(_ name: String) throws -> String {
  let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  let places = ([own] + CommandLine.arguments).map {
    URL(filePath: name, relativeTo: URL(filePath: $0).deletingLastPathComponent()).path
  }
  return try #require(places.first { FileManager.default.isExecutableFile(atPath: $0) }, "\(name) is not built")
}

/// Waits until `condition` holds; if that takes longer than `Daemon.patience`, the test fails.
func wait(_ purpose: String, until condition: () throws -> Bool) throws {
  let deadline = Date(timeIntervalSinceNow: Daemon.patience)
  while try !condition() {
    try #require(Date() < deadline, "waited in vain \(purpose)")
    usleep(1000)
  }
}
