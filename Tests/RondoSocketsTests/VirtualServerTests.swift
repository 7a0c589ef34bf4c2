import Glibc
import Rondo
import RondoSockets
import RondoTesting
import Testing

/// A whole server in async code, its clients and its end, in virtual time. The bytes go through real sockets.
@Suite struct VirtualServerTests {
  private final class Notes: @unchecked Sendable {
    // Unchecked: all tasks prefer the loop, whose thread is the test's.
    private let virtual: VirtualLoop
    private(set) var lines: [String] = []

    init(_ virtual: VirtualLoop) { self.virtual = virtual }

    func note(_ text: String) { lines.append("\(virtual.elapsed.components.seconds) \(text)") }
  }

  @Test func `requests, an idle client, an end with a grace and one that outlives it happen to the second`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let loop = virtual.loop
      let notes = Notes(virtual)
      let address = try SocketAddress(parsing: "@rondo-virtual-server-\(getpid())")
      let listener = try Listener(at: address)
      let serving = Task(executorPreference: loop) {
        try await listener.serve(on: loop, grace: .seconds(10)) { connection in
          connection.idleLimit = .seconds(30)
          do {
            for try await line in connection.lines() {
              // The answer takes a second.
              try await loop.clock.sleep(for: .seconds(1))
              try await connection.write(line + "!\n")
            }
            notes.note("end of a client")
          } catch {
            notes.note("\(error)")
          }
        }
        notes.note("served")
      }

      func client(_ name: String, pause: Duration, requests: Int) {
        Task(executorPreference: loop) {
          do {
            let connection = try await Connection.connected(to: address, on: loop)
            for _ in 0..<requests {
              try await connection.write(name + "\n")
              notes.note(try await connection.readLine() ?? "no answer")
              try await loop.clock.sleep(for: pause)
            }
            // Silent, until the server ends it.
            if try await connection.read() == nil { notes.note("\(name) is told of the end") }
          } catch {
            notes.note("\(name): \(error)")
          }
        }
      }
      client("quick", pause: .seconds(5), requests: 3)
      client("slow", pause: .seconds(20), requests: .max)
      virtual.at(.seconds(120)) { serving.cancel() }
      virtual.advance(by: .seconds(1_000))
      #expect(
        notes.lines == [
          "1 quick!", "1 slow!", "7 quick!", "13 quick!",
          // 30 seconds after its last byte.
          "22 slow!", "43 the wait for the socket ended: the time given is over", "43 quick is told of the end",
          "43 slow!", "64 slow!", "85 slow!", "106 slow!", "127 slow!",
          // The grace is over.
          "130 the wait for the socket ended: the task was cancelled", "130 served",
          // It writes to a closed connection.
          "147 slow: the peer has gone",
        ])
    }
  }
}
