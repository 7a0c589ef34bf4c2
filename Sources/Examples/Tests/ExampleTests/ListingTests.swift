import Foundation
import Testing

/// Programs for CFRunLoop, compiled for the real one and for Rondo's: only the import or the include differs.
@Suite struct ListingTests {
  private static let listings = URL(filePath: #filePath).appending(path: "../../../CFRunLoop").standardized

  @Test func `programs in Swift print the same with either import`() throws {
    let real = try lines(of: "listings")
    let rondo = try lines(of: "listings-rondo")
    #expect(real.count == 22)
    #expect(real == rondo)
  }

  @Test func `the programs in Swift are the same files`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.listings.appending(path: "listings").path)
    #expect(names.count == 6)
    for name in names {
      let other = Self.listings.appending(path: "listings-rondo/\(name)").resolvingSymlinksInPath()
      #expect(other == Self.listings.appending(path: "listings/\(name)").resolvingSymlinksInPath())
    }
  }

  @Test func `programs in C print the same with either include`() throws {
    guard let real = try compileForCoreFoundation() else { return }
    let expected = try run(real.path).output.split(separator: "\n").map(String.init)
    #expect(expected.count > 140)
    #expect(try lines(of: "listings-c") == expected)
  }

  @Test func `message ports answer between two processes and two threads`() throws {
    let said = try lines(of: "listings-c", ["ports"])
    func asked(_ who: String) -> [String] {
      [
        "remote 1", "result 0, \(who) 1: hello", "result 0, \(who) 2: hello", "invalidated, remote 1", "result -3",
        "result 0",
      ]
    }
    // Two processes or threads write: what each says is in order.
    let ofServer = ["made", "contains", "valid", "process released", "thread released"]
    let served = said.filter { line in ofServer.contains { line.hasPrefix($0) } }
    func serves(_ who: String) -> [String] {
      ["made 1, free info 0; the same 1, free info 1", "contains 1", "\(who) released", "valid 0"]
    }
    #expect(served == serves("process") + serves("thread"))
    let rest = said.filter { line in !ofServer.contains { line.hasPrefix($0) } }
    #expect(rest == asked("process") + ["nobody 1"] + asked("thread"))
  }

  @Test func `a thread that checks in by a message port is sent work, and its end is told`() throws {
    let said = try lines(of: "listings-c", ["check-in"])
    let work = ["work 101 of 4 bytes", "result 0, 4 bytes"]
    let end = ["thread ends", "told of the end, valid 0, on the main thread 1"]
    // The thread writes its end while it is told.
    #expect(Array(said.prefix(5)) == ["checked in 1"] + work + work)
    #expect(said.dropFirst(5).sorted() == end)
  }

  @Test func `a file descriptor calls out once each time that it is enabled`() throws {
    let call = ["pipe kept", "pipe ready 1, read 1", "pipe let go"]
    #expect(
      try lines(of: "listings-c", ["descriptors"]) == ["pipe kept", "disabled at first: result 3"] + call
        + ["enabled: result 4", "told once: result 3", "disabled: result 3"] + call
        + ["enabled again: result 4", "context 1 1", "pipe let go", "valid 0, native -1, closed 1", "none 1"])
  }

  @Test func `a message port may have any name and another one, and may answer on a queue`() throws {
    func answered(_ number: Int, onMain isMain: Bool) -> [String] {
      ["message \(number) on the main thread \(isMain ? 1 : 0)", "\(number): result 0, reply 1"]
    }
    #expect(
      try lines(of: "listings-c", ["names"]) == ["unnamed 1, name 0", "1 finds none", "named 1"]
        + answered(2, onMain: true) + ["renamed 1 1", "3 finds none"] + answered(4, onMain: true)
        + ["empty 0", "in the loop 0"] + answered(5, onMain: false) + answered(6, onMain: true))
  }

  @Test func `a connection that is refused is told with its error, and what does not connect tells nothing`() throws {
    func refused(_ name: String, _ flags: Int, _ rest: [String]) -> [String] {
      let first = ["flags \(flags)", "connect 0", "type 4, valid 1, address -1, error \(ECONNREFUSED)"]
      return (first + rest).map { "\(name): \($0)" }
    }
    #expect(
      try lines(of: "listings-c", ["refusals"]) == refused("refused", 128, ["calls 1, valid 1"])
        + refused("refused with read", 129, ["type 1, valid 1, address -1, data 0", "calls 2, valid 1"])
        + refused("refused with data", 131, ["type 3, valid 1, address 0, data 0 \u{27}\u{27}", "calls 2, valid 0"])
        + refused("refused with write", 128, ["calls 1, valid 1"])
        + ["refused at once -1", "nowhere -1", "nothing -1", "idle: result 3, calls 0"])
  }

  @Test func `descriptions say what an item is, when it fires, and what its context says`() throws {
    let dates = "interval = 10.0, tolerance = 2.0, next fire date = 3000000000.0"
    #expect(
      try lines(of: "listings-c", ["descriptions"]) == [
        "tolerance 2", "<CFRunLoopTimer {valid = Yes, \(dates), order = 0, context = <a timer>}",
        "<CFRunLoopObserver {valid = Yes, activities = 0x1, repeats = Yes, order = 3, context = <an observer>}",
        "<CFRunLoopTimer {valid = No, interval = 10.0, tolerance = 0.0, next fire date = 0.0, order = 0, context = -}",
        "port 1 1 1", "descriptor 1, references 1",
      ])
  }

  @Test func `an item that is added to a mode too many is told on stderr, and is in none`() throws {
    #expect(try lines(of: "listings-c", ["modes"]) == ["found 63"])
    let (_, said) = try run("/bin/sh", ["-c", "exec '\(program("listings-c"))' modes 2>&1 >/dev/null"])
    let told = said.split(separator: "\n")
    #expect(told.count == 7)
    #expect(told.first == "Rondo: the loop has 64 modes and no room for mode-63: what is added to it is ignored.")
  }

  @Test func `a connection that no descriptor is left for waits, and the loop does not spin`() throws {
    #expect(
      try lines(of: "listings-c", ["shortage"]) == [
        "calls 0, spins 0", "listener: type 2, valid 1, address 16, accepted 1",
      ])
  }

  // MARK: - Running

  /// The program in C with CoreFoundation's include; nil where the toolchain has no compiler for it on the path.
  private func compileForCoreFoundation() throws -> URL? {
    let (status, path) = try run("/usr/bin/env", ["sh", "-c", "readlink -f \"$(command -v swift)\""])
    #expect(status == 0)
    let swift = URL(filePath: path.trimmingCharacters(in: .whitespacesAndNewlines))
    let toolchain = swift.deletingLastPathComponent().deletingLastPathComponent()
    let compiler = toolchain.appending(path: "bin/clang")
    guard FileManager.default.isExecutableFile(atPath: compiler.path) else { return nil }
    let library = toolchain.appending(path: "lib/swift").path
    let product = FileManager.default.temporaryDirectory.appending(path: "listings-c-\(UUID())")
    let arguments = [
      "-fblocks", "-I\(library)", Self.listings.appending(path: "listings-c/main.c").path,
      Self.listings.appending(path: "listings-c/sockets.c").path, "-L\(library)/linux",
      "-Wl,-rpath,\(library)/linux", "-lFoundation", "-lBlocksRuntime", "-lpthread", "-o", product.path,
    ]
    #expect(try run(compiler.path, arguments).status == 0)
    return product
  }
}
