import Glibc
import Rondo
import RondoTestSupport
import RondoTesting
import Testing

@testable import RondoDaemon

/// A path that is followed, on a real file system.
@Suite struct PathTests {
  /// A directory of the test's own, and what a source of a path in it was told.
  private final class Place: @unchecked Sendable {
    let stage: Stage
    let root = "/tmp/\(uniqueName())"

    init(_ stage: Stage) {
      self.stage = stage
      shell("mkdir -p \(root)")
    }

    deinit { shell("rm -rf \(root)") }

    func watch(_ name: String) throws -> PathSource {
      let source = try PathSource(root + "/" + name) { _, change in self.stage.note("\(change)") }
      stage.loop.add(source)
      return source
    }

    /// What is told of what a script does in the directory.
    func told(of script: String) -> String {
      shell("cd \(root) && \(script)")
      stage.look()
      return stage.trace.take()
    }

    private func shell(_ script: String) {
      var command = ChildSource.Command("/bin/sh", ["-ec", script])
      command.input = .null
      let child = try! command.spawn()
      precondition(end(of: child) == .exit(0), script)
    }
  }

  @Test func `a file that appears, is written, replaced by rename, and removed, again and again`() throws {
    try onLoopThread { stage in
      let place = Place(stage)
      let source = try place.watch("config")
      #expect(!source.exists)
      for _ in 0..<3 {
        #expect(place.told(of: "echo 1 > other; mv other config") == "appeared")
        #expect(source.exists)
        #expect(place.told(of: "echo 2 >> config") == "written|finished")
        #expect(place.told(of: "echo 3 > config.new; mv config.new config") == "replaced")
        // The new one is watched now.
        #expect(place.told(of: "echo 4 > config") == "written|finished")
        #expect(place.told(of: "mv config config~; echo 5 > config") == "replaced")
        #expect(place.told(of: "rm config config~") == "vanished")
      }
      #expect(place.told(of: "echo 1 > another; rm another") == "")
      source.invalidate()
    }
  }

  @Test func `directories on the way may come and go`() throws {
    try onLoopThread { stage in
      let place = Place(stage)
      let source = try place.watch("a/b/config")
      #expect(place.told(of: "mkdir a") == "")
      #expect(place.told(of: "mkdir a/b; echo 1 > a/b/config") == "appeared")
      #expect(place.told(of: "mv a gone") == "vanished")
      #expect(place.told(of: "echo 2 > gone/b/config") == "")
      #expect(place.told(of: "mv gone a") == "appeared")
      #expect(place.told(of: "mkdir -p new/b; echo 3 > new/b/config; mv a old; mv new a") == "replaced")
      #expect(place.told(of: "rm -r a") == "vanished")
      source.invalidate()
    }
  }

  @Test func `a link that is exchanged, as Kubernetes does with config maps, is a replacement`() throws {
    try onLoopThread { stage in
      let place = Place(stage)
      let setUp =
        "mkdir ..1 ..2; echo 1 > ..1/config; echo 2 > ..2/config; ln -s ..1 ..data; ln -s ..data/config config"
      #expect(place.told(of: setUp) == "")
      let source = try place.watch("config")
      #expect(source.exists)
      #expect(place.told(of: "ln -s ..2 ..tmp; mv -T ..tmp ..data; rm -r ..1") == "replaced")
      #expect(place.told(of: "echo 3 >> ..2/config") == "written|finished")
      #expect(place.told(of: "ln -sfn loop ..data; ln -s ..data loop") == "vanished")
      source.invalidate()
    }
  }

  @Test func `an overflow is told, with what is true now`() throws {
    try onLoopThread { stage in
      let place = Place(stage)
      #expect(place.told(of: "echo 1 > config") == "")
      let source = try place.watch("config")
      // fs.inotify.max_queued_events is 16,384 as a rule. Two alternate, for equal ones are merged.
      let limit = unsafe fopen("/proc/sys/fs/inotify/max_queued_events", "r")!
      var text = [CChar](repeating: 0, count: 32)
      unsafe fgets(&text, 32, limit)
      unsafe fclose(limit)
      let count = try #require(Int(String(decoding: text.prefix { $0 > 32 }.map { UInt8($0) }, as: UTF8.self)))
      let names = [place.root + "/x", place.root + "/y"]
      for _ in 0..<(count / 4 + 1_000) {
        for name in names {
          close(unsafe open(name, O_CREAT | O_WRONLY, 0o600))
          _ = unsafe unlink(name)
        }
      }
      #expect(place.told(of: "echo 2 > new; mv new config").split(separator: " ").contains { $0 == "replaced|missed" })
      #expect(place.told(of: "echo 3 >> config") == "written|finished")
      source.invalidate()
    }
  }

  @Test func `what is no path says so, and a source leaves no descriptor behind`() throws {
    #expect(throws: FileError.containsZero("")) { try PathSource("") { _, _ in } }
    #expect(throws: FileError.containsZero("a\0b")) { try PathSource("a\0b") { _, _ in } }
    let source = try PathSource("relative/../path") { _, _ in }
    #expect(source.path.hasPrefix("/") && source.path.hasSuffix("/relative/../path"))
    source.invalidate()
  }

  @Test func `records are read as they are laid out, and a cut one not at all`() {
    func record(_ watch: UInt8, _ mask: UInt8, _ name: String, room: UInt8) -> [UInt8] {
      let text = Array(name.utf8)
      return [watch, 0, 0, 0, mask, 0, 0, 0, 7, 0, 0, 0, room, 0, 0, 0] + text
        + Array(repeating: 0, count: Int(room) - text.count)
    }
    let bytes = record(1, 2, "a", room: 16) + record(2, 4, "", room: 0) + record(3, 8, "12345678", room: 8)
    let expected = [
      Inotify.Record(watch: 1, mask: 2, cookie: 7, name: "a"), Inotify.Record(watch: 2, mask: 4, cookie: 7, name: ""),
      Inotify.Record(watch: 3, mask: 8, cookie: 7, name: "12345678"),
    ]
    #expect(Inotify.records(in: bytes[...]) == expected)
    for cut in 0..<bytes.count {
      let count = cut < 32 ? 0 : cut < 48 ? 1 : 2
      #expect(Inotify.records(in: bytes[..<cut]) == Array(expected.prefix(count)))
    }
  }
}
