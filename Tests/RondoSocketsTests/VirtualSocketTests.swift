import Glibc
import Rondo
import RondoSockets
import RondoTesting
import Testing

/// Sockets in virtual time: what they carry is real, when it comes is the script's.
@Suite struct VirtualSocketTests {
  private final class Notes: @unchecked Sendable {
    private let virtual: VirtualLoop
    private(set) var lines: [String] = []
    /// What was accepted.
    var accepted: SocketSource?

    init(_ virtual: VirtualLoop) { self.virtual = virtual }

    func note(_ text: String) {
      lines.append("\(virtual.elapsed.components.seconds) \(text)")
    }

    func hear(_ event: SocketSource.Event) {
      switch event {
      case .received(let bytes): note(String(decoding: bytes, as: UTF8.self))
      case .end: note("end")
      case .sent: note("sent")
      case .accepted: note("accepted")
      case .connected: note("connected")
      case .readable: note("readable")
      case .writable: note("writable")
      default: note("\(event)")
      }
    }
  }

  @Test func `bytes come when the script sends them, to the second, and so does the end`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let notes = Notes(virtual)
      let (near, far) = try Socket.pair()
      let source = SocketSource(near, for: .data) { _, event in notes.hear(event) }
      virtual.loop.add(source)
      virtual.at(.seconds(1)) { _ = try? far.send(Array("hello".utf8)[...]) }
      virtual.at(.seconds(3_600)) { _ = try? far.send(Array("there".utf8)[...]) }
      virtual.at(.seconds(3_601)) { try? far.finishWriting() }
      virtual.advance(by: .seconds(10_000))
      #expect(notes.lines == ["1 hello", "3600 there", "3601 end"])
      source.invalidate()
    }
  }

  @Test func `what the kernel does not take waits until the script makes room`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let notes = Notes(virtual)
      let (near, far) = try Socket.pair()
      let source = SocketSource(near, for: .data) { _, event in notes.hear(event) }
      virtual.loop.add(source)
      let count = 4 << 20
      try source.send([UInt8](repeating: 1, count: count))
      virtual.advance(by: .seconds(5))
      #expect(source.queuedByteCount > 0 && notes.lines.isEmpty)
      var received = 0
      func drain() {
        while case .bytes(let bytes)? = try? far.receive() { received += bytes.count }
      }
      // As often as it takes, a second apart.
      for second in 6..<600 { virtual.at(.seconds(second)) { drain() } }
      virtual.advance(by: .seconds(595))
      drain()
      #expect(received == count && source.queuedByteCount == 0 && notes.lines.count == 1)
      #expect(notes.lines.first?.hasSuffix(" sent") == true)
      source.invalidate()
    }
  }

  @Test func `connections are made and accepted in one loop, without a moment's wait`() throws {
    try withVirtualLoop { virtual in
      virtual.looksAtDescriptors = true
      let notes = Notes(virtual)
      let address = try SocketAddress(parsing: "@rondo-virtual-\(getpid())")
      let loop = virtual.loop
      let listener = SocketSource(try .listening(at: address), for: .accept) { _, event in
        notes.hear(event)
        guard case .accepted(let socket, from: _) = event else { return }
        let accepted = SocketSource(socket, for: .data) { source, event in
          notes.hear(event)
          if case .received(let bytes) = event { try? source.send(bytes) }
        }
        loop.add(accepted)
        notes.accepted = accepted
      }
      virtual.loop.add(listener)
      let client = try SocketSource(connectingTo: address, timeout: .seconds(5), for: .data) { source, event in
        notes.hear(event)
        if case .connected = event { try? source.send(Array("echo".utf8)) }
      }
      virtual.loop.add(client)
      virtual.runUntilIdle()
      #expect(notes.lines.sorted() == ["0 accepted", "0 connected", "0 echo", "0 echo"])
      #expect(virtual.elapsed == .zero)
      for source in [listener, client, notes.accepted] { source?.invalidate() }
    }
  }

  @Test func `a script makes a descriptor ready for all its sources, once, and in their mode`() throws {
    try withVirtualLoop { virtual in
      let notes = Notes(virtual)
      let (near, far) = try Socket.pair()
      let socket = SocketSource(near, for: .read) { _, event in notes.hear(event) }
      let plain = try Loop.DescriptorSource(near.descriptor, for: .write) { _, _ in notes.note("room") }
      let other = try Loop.DescriptorSource(near.descriptor, for: .read) { _, _ in notes.note("other") }
      virtual.loop.add(socket)
      virtual.loop.add(plain)
      virtual.loop.add(other, to: "other")
      virtual.makeReady(near.descriptor, [.read, .write], at: .seconds(2))
      virtual.advance(by: .seconds(10))
      #expect(notes.lines.sorted() == ["2 readable", "2 room"])
      // Nobody is there for it, until somebody is.
      virtual.makeReady(far.descriptor, .read)
      virtual.advance(by: .seconds(1))
      let late = try Loop.DescriptorSource(far.descriptor, for: .read) { _, _ in notes.note("late") }
      virtual.loop.add(late)
      virtual.runUntilIdle()
      #expect(notes.lines.last == "11 late")
      // Without a script's word nothing is ready, whatever the kernel says.
      _ = try far.send([1])
      virtual.advance(by: .seconds(1))
      #expect(notes.lines.count == 3)
      socket.invalidate()
      for source in [plain, other, late] { source.invalidate() }
    }
  }
}
