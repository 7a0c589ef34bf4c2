import Glibc
import Rondo
import RondoSockets
import RondoTestSupport
import Testing

/// The files of Unix-domain listeners.
@Suite struct SocketFileTests {
  /// A path that no test has.
  private static func path() -> String { "/tmp/\(uniqueName())" }

  private static func mode(of path: String) -> mode_t? {
    var information = stat()
    return unsafe lstat(path, &information) == 0 ? information.st_mode : nil
  }

  private static func connects(to path: String) throws -> Bool {
    let socket = try Socket(family: AF_UNIX, .stream)
    do {
      return try socket.connect(to: .file(path))
    } catch { return false }
  }

  @Test func `the file has its mode, and goes with the listener`() throws {
    let path = Self.path()
    var listener: Listener? = try .unix(path, mode: 0o622)
    #expect(listener?.address == (try SocketAddress.file(path)))
    #expect(Self.mode(of: path) == S_IFSOCK | 0o622)
    #expect(try Self.connects(to: path))
    listener = nil
    #expect(Self.mode(of: path) == nil)
  }

  @Test func `a listener that another process takes over leaves the file to that one's`() throws {
    let path = Self.path()
    let listener = try Listener.unix(path)
    // As the other process has it.
    let copy = dup(listener.socket.descriptor)
    let successor = try Listener(Socket(owning: copy), takingOver: true)
    listener.handOver()
    listener.stop()
    #expect(try Self.connects(to: path))
    successor.stop()
    #expect(Self.mode(of: path) == nil)
  }

  @Test func `a listener that was handed over leaves its queue to the other process`() async throws {
    let path = Self.path()
    let thread = try LoopThread(name: "server")
    let listener = try Listener.unix(path)
    let copy = dup(listener.socket.descriptor)
    let successor = try Socket(owning: copy)
    let client = try Socket(family: AF_UNIX, .stream)
    _ = try client.connect(to: .file(path))
    listener.handOver()
    listener.stop()
    try await listener.serve(on: thread.loop) { _ in Issue.record("It was accepted.") }
    let isThere = try successor.accept() != nil
    #expect(isThere)
    await thread.end()
    _ = unsafe unlink(path)
  }

  @Test func `an address of a file has the same by default`() throws {
    let path = Self.path()
    let listener = try Listener(at: .file(path))
    #expect(Self.mode(of: path) == S_IFSOCK | 0o660)
    listener.stop()
    #expect(Self.mode(of: path) == nil)
  }

  @Test func `a file that a crash has left is replaced, or not`() throws {
    let path = Self.path()
    // Closing the socket leaves its file, as a crash does.
    _ = try Socket.listening(at: .file(path))
    #expect(try !Self.connects(to: path))
    #expect(throws: SocketError.addressInUse(try .file(path))) { try Listener.unix(path, replacesStale: false) }
    let listener = try Listener.unix(path)
    #expect(try Self.connects(to: path))
    withExtendedLifetime(listener) {}
  }

  @Test func `a listener that lives keeps its file`() throws {
    let path = Self.path()
    let first = try Listener.unix(path)
    #expect(throws: SocketError.addressInUse(try .file(path))) { try Listener.unix(path) }
    #expect(try Self.connects(to: path))
    withExtendedLifetime(first) {}
  }

  @Test func `a listener whose queue is full lives`() throws {
    let path = Self.path()
    let first = try Listener.unix(path, backlog: 0)
    var clients: [Socket] = []
    while case let client = try Socket(family: AF_UNIX, .stream), (try? client.connect(to: .file(path))) == true {
      clients.append(client)
    }
    #expect(throws: SocketError.addressInUse(try .file(path))) { try Listener.unix(path) }
    withExtendedLifetime((first, clients)) {}
  }

  @Test func `a file of another kind is not replaced`() throws {
    let path = Self.path()
    let file = unsafe open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
    close(file)
    defer { _ = unsafe unlink(path) }
    #expect(throws: SocketError.addressInUse(try .file(path))) { try Listener.unix(path) }
    #expect(Self.mode(of: path) == S_IFREG | 0o600)
  }

  @Test func `a file that has replaced the listener's own stays`() throws {
    let path = Self.path()
    let first = try Listener.unix(path)
    _ = unsafe unlink(path)
    let second = try Listener.unix(path)
    first.stop()
    #expect(try Self.connects(to: path))
    withExtendedLifetime(second) {}
  }

  @Test func `of many that start at a path, one listens`() async throws {
    let path = Self.path()
    _ = try Socket.listening(at: .file(path))
    let listeners = await withTaskGroup(of: Listener?.self) { group in
      for _ in 0..<8 { group.addTask { try? Listener.unix(path) } }
      return await group.reduce(into: [Listener]()) { all, one in if let one { all.append(one) } }
    }
    #expect(listeners.count == 1)
    #expect(try Self.connects(to: path))
  }

  @Test func `a path that no socket can have says why`() {
    let long = "/" + String(repeating: "x", count: 107)
    #expect(throws: SocketError.system(.bind, errno: ENAMETOOLONG)) { try Listener.unix(long) }
    #expect(throws: SocketError.system(.bind, errno: EINVAL)) { try Listener.unix("") }
    #expect(throws: SocketError.notFound) { try Listener.unix("/tmp/\(uniqueName())/socket") }
  }

  @Test(.offThePool) func `a forked child that ends leaves the file of its parent`() throws {
    let path = Self.path()
    var listener: Listener? = try .unix(path)
    let child = forkProcess()
    if child == 0 {
      listener?.stop()
      listener = nil
      _exit(0)
    }
    var status: CInt = 0
    #expect(unsafe waitpid(child, &status, 0) == child && status == 0)
    #expect(try Self.connects(to: path))
    listener = nil
    #expect(Self.mode(of: path) == nil)
  }
}
