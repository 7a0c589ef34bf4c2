import Glibc
import Rondo
import RondoTesting
import Synchronization
import Testing

// The examples of Rondo's articles for those who begin, compiled and run. `ExampleTextTests` sees to it that they stand
// in the documentation as they stand here.

/// What the examples have done.
private final class Log: Sendable {
  private let notes = Mutex<[String]>([])

  func note(_ text: String) { notes.withLock { $0.append(text) } }

  var text: String { notes.withLock { $0.joined(separator: ", ") } }
}

@Suite struct ArticleExamplesTests {
  // MARK: - StateThatHandlersShare

  @Test func `StateThatHandlersShare: a class of one loop`() {
    withVirtualLoop { virtual in
      Greeter(on: virtual.loop).start()
      virtual.advance(by: .seconds(3))
      #expect(virtual.loop.statistics.timerCallouts == 3)
    }
  }

  // MARK: - DescriptorsAndServers

  @Test func `DescriptorsAndServers: a level`() throws {
    let log = Log()
    let pipe = TestPipe()
    pipe.write(3)
    let descriptor = pipe.reader
    let result = onLoopThread { stage in
      Result {
        let loop = stage.loop

        let source = try Loop.DescriptorSource(descriptor, for: .read) { source, _ in
          var bytes = [UInt8](repeating: 0, count: 4096)
          let count = unsafe read(source.descriptor, &bytes, bytes.count)
          if count > 0 { log.note("\(count) bytes") } else if count == 0 { source.invalidate() }
        }
        loop.add(source)

        loop.run(for: .seconds(60), returnAfterSourceHandled: true)
        source.invalidate()
      }
    }
    try result.get()
    #expect(log.text == "3 bytes")
    withExtendedLifetime(pipe) {}
  }

  // MARK: - WhatToExpect

  @Test func `WhatToExpect: turns and sleeps`() {
    let log = Log()
    withVirtualLoop { virtual in
      let loop = virtual.loop
      loop.add(Loop.Timer(every: .milliseconds(400)) { _ in })

      let before = loop.statistics
      loop.run(for: .seconds(1))
      let after = loop.statistics
      log.note("\(after.turns - before.turns) turns, \(after.sleeps - before.sleeps) sleeps")
    }
    #expect(log.text == "3 turns, 3 sleeps")
  }
}

// MARK: - StateThatHandlersShare

/// Greets who connects. On the loop's thread alone.
final class Greeter: @unchecked Sendable {
  private let loop: Loop
  private var greeted = 0

  init(on loop: Loop) { self.loop = loop }

  func start() {
    loop.add(Loop.Timer(every: .seconds(1)) { _ in self.greet() })
  }

  func greet() {
    precondition(loop.isCurrent)
    greeted += 1
  }
}
