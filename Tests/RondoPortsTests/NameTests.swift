import CLinux
import Glibc
import RondoPorts
import RondoSockets
import RondoTestSupport
import Testing

/// Names of message ports: what can be one, who has it, and what is left of it.
@Suite struct NameTests {
  @Test(arguments: ["", ".", "..", "a/b", "a\0b", String(repeating: "a", count: 108)])
  func `what cannot be a name is refused`(_ text: String) {
    #expect(throws: MessagePortError.badName(text)) { try MessagePortName(text) }
    #expect(throws: MessagePortError.badName(text)) { try MessagePortName(text, in: .directory("/tmp")) }
  }

  @Test func `names of the same characters in other bytes are two names`() throws {
    let (one, other) = (try MessagePortName("\u{e9}"), try MessagePortName("e\u{301}"))
    #expect(one.text == other.text)
    #expect(one != other && Set([one, other, one]).count == 2)
    let directories = try ["\u{e9}", "e\u{301}"].map { try MessagePortName("a", in: .directory($0)) }
    #expect(directories[0] != directories[1])
    #expect(try directories[0] == MessagePortName("a", in: .directory("\u{e9}")))
    let port = try LocalMessagePort(one) { _ in }
    defer { port.invalidate() }
    #expect(isFree(other))
  }

  @Test func `each user has abstract names of their own`() throws {
    #expect(try MessagePortName("a").address.description == "@rondo/\(geteuid())/a")
    #expect(try MessagePortName("a", in: .abstract(user: 7)).address.description == "@rondo/7/a")
  }

  @Test func `a name that is taken is refused, and free once its port is invalid`() throws {
    let name = try uniqueName()
    let port = try LocalMessagePort(name) { _ in }
    #expect(throws: MessagePortError.nameTaken(name)) { try LocalMessagePort(name) { _ in } }
    port.invalidate()
    #expect(isFree(name))
  }

  @Test func `a name in a directory is refused while it is taken, and leaves no socket behind`() throws {
    let directory = TestDirectory()
    let name = try MessagePortName("a", in: .directory(directory.path))
    let port = try LocalMessagePort(name) { _ in }
    #expect(throws: MessagePortError.nameTaken(name)) { try LocalMessagePort(name) { _ in } }
    #expect(directory.files == ["a.lock", "a.port"])
    port.invalidate()
    #expect(directory.files == ["a.lock"])
  }

  @Test func `a port that is dropped gives its name back`() throws {
    let name = try uniqueName()
    do { _ = try LocalMessagePort(name) { _ in } }
    #expect(isFree(name))
  }

  @Test func `a socket file without an owner is in nobody's way`() throws {
    let directory = TestDirectory()
    let name = try MessagePortName("a", in: .directory(directory.path))
    // What a killed process leaves: the file, and no lock.
    try Socket(family: AF_UNIX, .stream).bind(to: name.address)
    #expect(directory.files == ["a.port"])
    #expect(throws: MessagePortError.notFound(name)) { try connect(name) }
    #expect(try LocalMessagePort(name) { _ in }.isValid)
  }

  @Test func `a directory in the socket's place is told as what it is`() throws {
    let directory = TestDirectory()
    let name = try MessagePortName("a", in: .directory(directory.path))
    #expect(unsafe mkdir("\(directory.path)/a.port", 0o700) == 0)
    #expect(throws: MessagePortError.socket(.system(.bind, errno: EISDIR))) { try LocalMessagePort(name) { _ in } }
    #expect(unsafe rmdir("\(directory.path)/a.port") == 0)
    // Nothing holds the lock any more.
    let port = try LocalMessagePort(name) { _ in }
    #expect(port.isValid)
  }

  @Test func `a directory is the one that was looked at, wherever its path leads since`() throws {
    let place = TestDirectory()
    let (safe, moved) = ("\(place.path)/safe", "\(place.path)/moved")
    #expect(unsafe mkdir(safe, 0o700) == 0)
    let directory = unsafe rondo_open_safe(safe, geteuid(), 0)
    try #require(directory >= 0)
    defer { close(directory) }
    #expect(unsafe rename(safe, moved) == 0 && mkdir(safe, 0o700) == 0)
    let lock = unsafe rondo_open_locked(directory, "a.lock")
    defer { close(lock) }
    #expect(unsafe access("\(moved)/a.lock", F_OK) == 0 && access("\(safe)/a.lock", F_OK) != 0)
    // A link that another user could lead elsewhere is none of ours, nor is a directory that others write to.
    #expect(unsafe rondo_open_safe("/tmp", geteuid(), 0) == -EPERM)
    let shared = unsafe rondo_open_safe("/tmp", geteuid(), 1)
    #expect(shared >= 0)
    close(shared)
    _ = unsafe unlink("\(moved)/a.lock")
    for path in [safe, moved] { _ = unsafe rmdir(path) }
  }

  @Test func `a port whose directory was moved removes nothing elsewhere`() throws {
    let place = TestDirectory()
    let (safe, moved) = ("\(place.path)/safe", "\(place.path)/moved")
    #expect(unsafe mkdir(safe, 0o700) == 0)
    let port = try LocalMessagePort(MessagePortName("a", in: .directory(safe))) { _ in }
    #expect(unsafe rename(safe, moved) == 0 && mkdir(safe, 0o700) == 0)
    let other = try LocalMessagePort(MessagePortName("a", in: .directory(safe))) { _ in }
    port.invalidate()
    #expect(unsafe access("\(safe)/a.port", F_OK) == 0)
    other.invalidate()
    #expect(unsafe access("\(safe)/a.port", F_OK) != 0)
    for path in ["\(safe)/a.lock", "\(moved)/a.lock", "\(moved)/a.port"] { _ = unsafe unlink(path) }
    for path in [safe, moved] { _ = unsafe rmdir(path) }
  }

  @Test func `a directory others may write to is refused`() throws {
    let name = try MessagePortName("a-\(getpid())", in: .directory("/tmp"))
    #expect(throws: MessagePortError.unsafeDirectory("/tmp")) { try LocalMessagePort(name) { _ in } }
  }

  @Test(.enabled(if: geteuid() == 0, "Only root can make a link of another user's."))
  func `a link to a directory is refused if another user made it`() throws {
    let (directory, place) = (TestDirectory(), TestDirectory())
    let link = "\(place.path)/link"
    #expect(unsafe symlink(directory.path, link) == 0)
    let name = try MessagePortName("a", in: .directory(link))
    #expect(try LocalMessagePort(name) { _ in }.isValid)
    #expect(unsafe lchown(link, 65_534, 65_534) == 0)
    #expect(throws: MessagePortError.unsafeDirectory(link)) { try LocalMessagePort(name) { _ in } }
  }

  @Test func `a directory that is not there is an error`() throws {
    let name = try MessagePortName("a", in: .directory("/tmp/there-is-none"))
    #expect(throws: MessagePortError.socket(.notFound)) { try LocalMessagePort(name) { _ in } }
  }

  @Test func `a name nobody has is not found`() throws {
    let name = try uniqueName()
    #expect(throws: MessagePortError.notFound(name)) { try connect(name) }
    let directory = TestDirectory()
    let file = try MessagePortName("a", in: .directory(directory.path))
    #expect(throws: MessagePortError.notFound(file)) { try connect(file) }
  }

  /// Whether a new port can have the name of one that is gone.
  private func isFree(_ name: MessagePortName) -> Bool {
    succeedsWithoutCopies { (try? LocalMessagePort(name) { _ in }) != nil }
  }

  private func connect(_ name: MessagePortName) throws {
    _ = try RemoteMessagePort(name)
  }
}
