internal import Glibc
internal import Rondo
internal import RondoTestSupport
internal import Testing
internal import rondo_parity

/// Rows about pipes: CFRunLoop reads eight bytes of them and watches edges, Rondo reads nothing and watches levels.
@Suite(.serialized, .offThePool) struct ExcludedDescriptorTests {
  private struct Pipe: Sendable {
    let reader: CInt
    let writer: CInt

    init() {
      var ends: [CInt] = [0, 0]
      let failure = unsafe pipe(&ends)
      precondition(failure == 0, "no pipe: error \(errno)")
      for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
      (reader, writer) = (ends[0], ends[1])
    }

    func write(_ count: Int) {
      let bytes = [UInt8](repeating: 7, count: count)
      _ = unsafe Glibc.write(writer, bytes, count)
    }

    /// How many bytes there were.
    func read() -> Int {
      var bytes = [UInt8](repeating: 0, count: 64)
      return unsafe Glibc.read(reader, &bytes, bytes.count)
    }
  }

  /// F02, F02b.
  @Test(arguments: [20, 3]) func pipeKeepsItsBytes(_ count: Int) {
    let trace = traceOnFreshThread { record in
      let pipe = Pipe()
      pipe.write(count)
      let source = try! Loop.DescriptorSource(pipe.reader, for: .read) { _, _ in record("\(pipe.read())") }
      Loop.current.add(source)
      record("\(Loop.current.run(for: .seconds(5), returnAfterSourceHandled: true))")
    }
    #expect(trace == ["\(count)", "handledSource"])
  }

  /// F02c: what stays unread is told again.
  @Test func unreadPipeIsToldAgain() {
    let trace = traceOnFreshThread { record in
      let pipe = Pipe()
      pipe.write(20)
      let source = try! Loop.DescriptorSource(pipe.reader, for: .read) { _, _ in record("ready") }
      Loop.current.add(source)
      for _ in 0..<2 { record("\(Loop.current.run(for: .seconds(5), returnAfterSourceHandled: true))") }
    }
    #expect(trace == ["ready", "handledSource", "ready", "handledSource"])
  }

  /// F07: both are told.
  @Test func twoSourcesOnOneDescriptor() {
    let trace = traceOnFreshThread { record in
      let pipe = Pipe()
      pipe.write(1)
      for name in ["first", "second"] {
        let source = try! Loop.DescriptorSource(pipe.reader, for: .read) { source, _ in
          record(name)
          source.invalidate()
        }
        Loop.current.add(source)
      }
      Loop.current.add(Loop.Source {})
      Loop.current.run(for: .milliseconds(20))
    }
    #expect(trace.sorted() == ["first", "second"])
  }

  /// F09: the end of the stream is readiness that does not go away.
  @Test func closedPipeIsTold() {
    let trace = traceOnFreshThread { record in
      let pipe = Pipe()
      let source = try! Loop.DescriptorSource(pipe.reader, for: .read) { _, _ in record("read \(pipe.read())") }
      Loop.current.add(source)
      close(pipe.writer)
      for _ in 0..<2 { record("\(Loop.current.run(for: .seconds(5), returnAfterSourceHandled: true))") }
    }
    #expect(trace == ["read 0", "handledSource", "read 0", "handledSource"])
  }
}
