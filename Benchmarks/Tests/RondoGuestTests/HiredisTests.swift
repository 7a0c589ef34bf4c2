import CGuests
import Foundation
import Glibc
import Rondo
import RondoGuests
import RondoSockets
import Testing

/// What hiredis has for other loops, as guests of a loop: each adapter as it comes, and a real server.
///
/// That it goes on CFRunLoop's names as well is for `make c-test`.
@Suite(.serialized) struct HiredisTests {
  /// How many commands are sent, and how many at a time.
  static let loads: [(count: Int, depth: Int)] = [(10_000, 1), (100_000, 100)]

  @Test(arguments: loads) func `on libevent each reply comes, in order`(_ load: (count: Int, depth: Int)) {
    withClient(load) { stage, client in
      let result = try? stage.loop.withEventBase { guest_redis_on_libevent(client, $0) }
      #expect(result == 0)
      #expect(stage.run())
    }
  }

  #if RONDO_GLIB
    @Test(arguments: loads) func `on GLib each reply comes, in order`(_ load: (count: Int, depth: Int)) {
      withClient(load) { stage, client in
        guard let context = guest_glib_new() else { return }
        let guest = try! Loop.GuestLoop.glib(OpaquePointer(context))
        stage.loop.add(guest)
        let source = guest_redis_on_glib(client, context)
        #expect(stage.run())
        if let source { guest_glib_destroy(source) }
        guest.invalidate()
        guest_glib_free(context)
      }
    }
  #endif
}

/// What C tells how many replies came.
private final class Replies {
  let told: (Int) -> Void
  init(_ told: @escaping (Int) -> Void) { self.told = told }
}

/// Runs `body` with a client of a server of its own, for the loop of a new thread, until the client is over.
private func withClient(
  _ load: (count: Int, depth: Int), _ body: @escaping @Sendable (Stage, UnsafeMutableRawPointer) -> Void
) {
  guard let server = RedisServer() else {
    return print("Skipped: redis-server is not installed; see `make setup-bench`.")
  }
  defer { server.end() }
  onLoopThread { stage in
    var count = 0
    let replies = Replies {
      count = $0
      stage.loop.stop()
    }
    let client = guest_redis_new(
      server.path, load.count, load.depth, { Unmanaged<Replies>.fromOpaque($0!).takeUnretainedValue().told($1) },
      Unmanaged.passUnretained(replies).toOpaque())
    guard let client else { return print("Skipped: hiredis is not installed; see `make setup-bench`.") }
    body(stage, client)
    withExtendedLifetime(replies) {}
    #expect(count == load.count)
  }
}

/// A server that listens at a Unix socket alone, and keeps nothing.
private final class RedisServer: @unchecked Sendable {
  let path: String
  private let folder: URL
  private let process = Process()

  init?() {
    guard let program = ["/usr/bin", "/usr/local/bin"].map({ "\($0)/redis-server" }).first(where: hasProgram) else {
      return nil
    }
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("rondo-redis-\(UUID())")
    path = folder.appendingPathComponent("socket").path
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = [
        "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", folder.path,
      ]
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      while !isReady { usleep(10_000) }
    } catch {
      fatalError("The server does not start: \(error)")
    }
  }

  /// Whether it accepts connections.
  private var isReady: Bool {
    precondition(process.isRunning, "redis-server has ended.")
    guard let address = try? SocketAddress.file(path), let socket = try? Socket(family: AF_UNIX, .stream) else {
      return false
    }
    return (try? socket.connect(to: address)) == true
  }

  func end() {
    // It has inherited the signals that a thread of the pool blocks, SIGTERM among them.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }
}

private func hasProgram(_ path: String) -> Bool { access(path, X_OK) == 0 }
