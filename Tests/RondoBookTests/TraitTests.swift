import Foundation
import RondoTestSupport
import Testing

/// The manifest's traits, as SwiftPM understands them.
@Suite(.offThePool) struct TraitTests {
  @Test func `without a trait no other package is fetched, nor resolved`() throws {
    let root = URL(fileURLWithPath: #filePath).appending(path: "../../..").standardized
    let scratch = FileManager.default.temporaryDirectory.appending(path: "rondo-traits-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: scratch) }
    // Without the versions that somebody who builds with traits has left beside the manifest.
    let bare = scratch.appending(path: "package")
    try FileManager.default.createDirectory(at: bare, withIntermediateDirectories: true)
    for name in ["Package.swift", "Sources", "Tests"] {
      try FileManager.default.createSymbolicLink(
        at: bare.appending(path: name), withDestinationURL: root.appending(path: name))
    }
    let package = Process()
    package.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // A directory of its own: the one of the tests is locked while they run.
    package.arguments = [
      "swift", "package", "--package-path", bare.path, "--scratch-path", scratch.path, "show-dependencies",
    ]
    let output = Pipe()
    package.standardOutput = output
    package.standardError = FileHandle.nullDevice
    try package.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    package.waitUntilExit()
    #expect(package.terminationStatus == 0 && text.contains("No external dependencies found"), "\(text)")
    let checkouts = (try? FileManager.default.contentsOfDirectory(atPath: scratch.path + "/checkouts")) ?? []
    let repositories = (try? FileManager.default.contentsOfDirectory(atPath: scratch.path + "/repositories")) ?? []
    #expect(checkouts.isEmpty && repositories.isEmpty)
  }
}
