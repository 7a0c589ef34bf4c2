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
    #expect(expected.count > 40)
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
      "-fblocks", "-I\(library)", Self.listings.appending(path: "listings-c/main.c").path, "-L\(library)/linux",
      "-Wl,-rpath,\(library)/linux", "-lFoundation", "-lBlocksRuntime", "-lpthread", "-o", product.path,
    ]
    #expect(try run(compiler.path, arguments).status == 0)
    return product
  }
}
