import Rondo
import RondoTesting
import Synchronization
import Testing

// The examples of Rondo.docc, compiled and run. `ExampleTextTests` sees to it that they stand in the documentation as
// they stand here.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

/// What owns a timeout in the examples.
private final class Connection: @unchecked Sendable {
  private let log: Log
  /// The loop's thread.
  var idle: Loop.Timeout!

  init(_ log: Log) { self.log = log }

  func expire() { log.note("expired") }
}

@Suite struct DocumentationExamplesTests {
  @Test func `Timeout: its life`() {
    let log = Log()
    let connection = Connection(log)
    withVirtualLoop { virtual in
      let loop = virtual.loop

      connection.idle = loop.makeTimeout(after: .seconds(30)) { [connection] in connection.expire() }
      loop.run(for: .seconds(20))
      loop.arm(connection.idle, after: .seconds(30))  // It has sent something.
      loop.run(for: .seconds(60))
      loop.discard(connection.idle)  // It has gone.

      #expect(virtual.elapsed == .seconds(50))
    }
    #expect(log.text == "expired")
  }
}
