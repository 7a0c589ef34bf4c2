import Foundation
import Glibc
import Rondo
import RondoSockets
import RondoTLS
import Synchronization
import Testing

/// TLS over connections of async code.
@Suite(.timeLimit(.minutes(5))) struct TLSStreamTests {
  @Test func `what one end writes the other reads, both ways`() async throws {
    try await withSecured { client, server in
      try await client.write("question\n")
      #expect(try await server.readLine() == "question")
      try await server.write { for part in ["ans", "", "wer\n"] { $0.append(part) } }
      #expect(try await client.read(exactly: 7) == Array("answer\n".utf8))
      #expect(client.tlsVersion == "TLSv1.3" && client.applicationProtocol == nil)
      #expect(client.socket != nil && client.peer != nil)
    }
  }

  @Test func `a server serves secured connections as plain ones`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let context = try Certificates.server()
      let serving = Task {
        try await listener.serve(on: loop) { connection in
          let connection = try await connection.secured(by: context)
          for try await bytes in connection { try await connection.write(bytes) }
        }
      }
      for text in ["one", "two"] {
        let plain = try await Connection.connected(to: listener.address, on: loop)
        let client = try await plain.secured(as: "rondo.test", by: Certificates.client())
        try await client.write(text)
        try await client.finishWriting()
        // The server has closed with close_notify.
        #expect(try await everything(from: client) == Array(text.utf8))
      }
      serving.cancel()
      try await serving.value
    }
  }

  @Test func `pipes carry a session, too`() async throws {
    try await withLoop { loop in
      var (there, back): ([CInt], [CInt]) = ([0, 0], [0, 0])
      try #require(pipe(&there) == 0 && pipe(&back) == 0)
      let near = try Connection(reading: back[0], writing: there[1], on: loop)
      let far = try Connection(reading: there[0], writing: back[1], on: loop)
      let (client, server) = try await secure(near, far)
      let data = pattern(300_000)
      async let writing: Void = {
        try await server.write(data)
        try await server.finishWriting()
      }()
      let received = try await everything(from: client)
      try await writing
      #expect(received == data)
    }
  }

  @Test func `the end that the server closes is told so, whichever of its connections that is`() async throws {
    try await withPlain { loop, near, far in
      let (client, server) = try await secure(near, far)
      far.close()
      #expect(server.isClosed)
      #expect(try await client.read() == nil)
      await #expect(throws: ConnectionError.closed) { try await server.read() }
    }
    try await withSecured { client, server in
      server.close()
      let end = try await client.read()
      #expect(end == nil)
    }
  }

  @Test func `an end that is released says goodbye`() async throws {
    try await withPlain { loop, near, far in
      let client = try await secure(near, far).client
      #expect(try await client.read() == nil)
    }
  }

  @Test func `a writer waits for a slow reader, and all bytes come`() async throws {
    try await withSecured { client, server in
      let data = pattern(10_000_000)
      let isDone = Mutex(false)
      async let writing: Void = {
        try await server.write(data)
        isDone.withLock { $0 = true }
        try await server.finishWriting()
      }()
      var received: [UInt8] = []
      while let bytes = try await client.read(upTo: 10_007) {
        received += bytes
        // Neither the kernel nor the connection keeps so many.
        if received.count < data.count / 2 { #expect(!isDone.withLock { $0 }) }
      }
      try await writing
      #expect(received == data)
    }
  }

  @Test func `the end finds room behind a full socket`() async throws {
    try await withSecured { client, server in
      // Whole records, until one finds no room, as far as the peer has not read.
      let data = pattern(3_000_000)
      let task = Task.immediate {
        try await server.write(data)
        try await server.finishWriting()
        server.close()
      }
      let received = try await everything(from: client)
      try await task.value
      #expect(received == data)
    }
  }

  @Test func `a file is sent through the session`() async throws {
    try await withSecured { client, server in
      let data = pattern(300_000)
      let file = open(Certificates.path("data"), O_RDWR | O_CREAT | O_TRUNC, 0o600)
      defer { close(file) }
      #expect(write(file, data, data.count) == data.count)
      async let sent = server.write(file: file, from: 1)
      let received = try await client.read(exactly: data.count - 1)
      let count = try await sent
      #expect(received == Array(data[1...]) && count == data.count - 1)
    }
  }

  // MARK: - Ends

  @Test func `an end without close_notify is an error`() async throws {
    try await withSecured { client, server in
      try await client.write("half of")
      try client.socket!.finishWriting()
      #expect(try await server.read(exactly: 7) == Array("half of".utf8))
      await #expect(throws: ConnectionError.tls(.truncated)) { try await server.read() }
      // It stays one.
      await #expect(throws: ConnectionError.tls(.truncated)) { try await server.read() }
    }
  }

  @Test func `after an end with close_notify the other side still writes`() async throws {
    try await withSecured { client, server in
      try await client.finishWriting()
      #expect(try await server.read() == nil)
      try await server.write("answer")
      #expect(try await client.read() == Array("answer".utf8))
      await #expect(throws: ConnectionError.socket(.reset)) { try await client.write([1]) }
      try await server.finishWriting()
      #expect(try await client.read() == nil)
    }
  }

  @Test func `a peer that resets the connection is told apart`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let plain = try await Connection.connected(to: listener.address, on: loop)
      let far = try Connection(try #require(try listener.socket.accept()).socket, on: loop)
      let (client, server) = try await secure(plain, far)
      try await client.write("hello")
      var value = linger(l_onoff: 1, l_linger: 0)
      let descriptor = far.socket!.descriptor
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
      // As a process does that dies: without a goodbye.
      let none = open("/dev/null", O_RDWR)
      dup2(none, descriptor)
      close(none)
      await #expect(throws: ConnectionError.socket(.reset)) {
        while try await client.read() != nil {}
      }
      _ = server
    }
  }

  // MARK: - Plain and secured

  @Test func `a secured connection carries another one`() async throws {
    try await withSecured { near, far in
      let (client, server) = try await secure(near, far)
      let data = pattern(300_000)
      async let writing: Void = {
        try await server.write(data)
        try await server.finishWriting()
      }()
      let received = try await everything(from: client)
      try await writing
      #expect(received == data)
    }
  }

  @Test func `bytes that came with the request for TLS belong to the handshake`() async throws {
    try await withPlain { _, near, far in
      let (serverContext, clientContext) = (try Certificates.server(), try Certificates.client())
      async let client = {
        try await near.write("STARTTLS\n")
        return try await near.secured(as: "rondo.test", by: clientContext)
      }()
      // Both are in the kernel before the first is read.
      var room = [UInt8](repeating: 0, count: 200)
      while recv(far.socket!.descriptor, &room, room.count, CInt(MSG_PEEK)) < room.count {
        await Task.yield()
      }
      #expect(try await far.readLine() == "STARTTLS")
      let server = try await far.secured(by: serverContext)
      try await server.write("hello")
      #expect(try await client.read() == Array("hello".utf8))
    }
  }

  @Test func `plain text that was injected before the handshake is never delivered`() async throws {
    try await withPlain { _, near, far in
      try await near.write("STARTTLS\nEVIL COMMAND\n")
      #expect(try await far.readLine() == "STARTTLS")
      guard case .tls(.violation) = await failure({ _ = try await far.secured(by: Certificates.server()) }) else {
        Issue.record("the text was taken")
        return
      }
      await #expect(throws: ConnectionError.closed) { try await far.readLine() }
    }
  }

  @Test func `the plain connection moves nothing any more`() async throws {
    try await withPlain { _, near, far in
      let (client, server) = try await secure(near, far)
      let context = try Certificates.client()
      let error = await failure { _ = try await near.secured(as: "rondo.test", by: context) }
      #expect(error == .closed)
      await #expect(throws: ConnectionError.closed) { try await near.read() }
      await #expect(throws: ConnectionError.closed) { try await near.write([1]) }
      await #expect(throws: ConnectionError.closed) { try await near.finishWriting() }
      try await client.write("secured")
      #expect(try await server.read() == Array("secured".utf8))
    }
  }

  @Test func `a connection that a task reads cannot be secured`() async throws {
    try await withPlain { _, near, far in
      // It reads when it is made.
      let reader = Task.immediate { try await far.read() }
      let context = try Certificates.server()
      let error = await failure { _ = try await far.secured(by: context) }
      #expect(error == .wait(.alreadyAwaited))
      try await near.write("plain")
      #expect(try await reader.value == Array("plain".utf8))
    }
  }

  @Test func `one task reads at a time`() async throws {
    try await withSecured { client, server in
      let readers = (0..<2).map { _ in Task { await failure { _ = try await server.read() } } }
      // The one that comes second ends first.
      let first = await withTaskGroup { group in
        for reader in readers { group.addTask { await reader.value } }
        let first = await group.next()!
        try? await client.write([1])
        return first
      }
      #expect(first == .wait(.alreadyAwaited))
    }
  }

  @Test func `readers and writers on other threads than the loop's get all bytes`() async throws {
    try await withSecured { client, server in
      try await withThrowingTaskGroup { group in
        for (seed, sender, receiver) in [(1, client, server), (2, server, client)] {
          let data = pattern(2_000_000, seed: seed)
          group.addTask {
            var rest = data[...]
            while !rest.isEmpty {
              let piece = rest.prefix(.random(in: 1...50_000))
              try await sender.write(piece)
              rest = rest.dropFirst(piece.count)
            }
            try await sender.finishWriting()
          }
          group.addTask {
            let received = try await everything(from: receiver)
            #expect(received == data)
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test(.enabled(if: Peer.isInstalled))
  func `a peer renews the keys, and both ends go on`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let serving = try serveLines(listener, on: loop)
      let peer = try Peer(of: listener, ["-tls1_3"], on: loop)
      try await peer.answers.write("one\n")
      try await Peer.wait(for: "one!", from: peer.answers)
      // Its command for new keys, of both ends.
      try await peer.answers.write("K\n")
      try await Peer.wait(for: "KEYUPDATE", from: peer.notes)
      for line in ["two", "three"] {
        try await peer.answers.write("\(line)\n")
        try await Peer.wait(for: "\(line)!", from: peer.answers)
      }
      peer.process.terminate()
      serving.cancel()
      try await serving.value
    }
  }

  @Test(.enabled(if: Peer.isInstalled))
  func `a peer that knows only TLS 1.2 is served`() async throws {
    try await withLoop { loop in
      let listener = try Listener(at: .loopback())
      let serving = try serveLines(listener, on: loop)
      let peer = try Peer(of: listener, ["-tls1_2", "-brief"], on: loop)
      try await Peer.wait(for: "Protocol version: TLSv1.2", from: peer.notes)
      for line in ["one", "two"] {
        try await peer.answers.write("\(line)\n")
        try await Peer.wait(for: "\(line)!", from: peer.answers)
      }
      // Its command for the end.
      try await peer.answers.write("Q\n")
      try await Peer.wait(for: "DONE", from: peer.notes)
      serving.cancel()
      try await serving.value
    }
  }

  @Test func `handshakes that fail leave no descriptor behind`() async {
    // Other tests open and close descriptors at the same time.
    await #expect(processExitsWith: .success) {
      try await failHandshakes()
    }
  }
}

/// The command of OpenSSL that is a client of TLS, with its standard streams.
private struct Peer {
  static let path = "/usr/bin/openssl"
  static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

  let process = Process()
  /// Its standard input, and its standard output.
  let answers: Connection
  /// Its standard error.
  let notes: Connection

  init(of listener: Listener, _ options: [String], on loop: Loop) throws {
    let (input, output, errors) = (Pipe(), Pipe(), Pipe())
    process.executableURL = URL(filePath: Self.path)
    process.arguments = ["s_client", "-connect", "\(listener.address)"] + options
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
    try process.run()
    answers = try Connection(
      reading: dup(output.fileHandleForReading.fileDescriptor),
      writing: dup(input.fileHandleForWriting.fileDescriptor), on: loop)
    notes = try Connection(reading: dup(errors.fileHandleForReading.fileDescriptor), on: loop)
  }

  static func wait(for line: String, from connection: Connection) async throws {
    while try #require(try await connection.readLine()) != line {}
  }
}

/// Has a server answer each line.
private func serveLines(_ listener: Listener, on loop: Loop) throws -> Task<Void, any Error> {
  let context = try Certificates.server()
  return Task {
    try await listener.serve(on: loop) { connection in
      let connection = try await connection.secured(by: context)
      for try await line in connection.lines() { try await connection.write("\(line)!\n") }
    }
  }
}

/// Hundreds of handshakes that fail on one side or both.
private func failHandshakes() async throws {
  let (client, server) = (try Certificates.client(), try Certificates.server())
  try await withLoop { loop in
    let before = openDescriptors()
    for round in 0..<200 {
      let (near, far) = try Connection.pair(on: loop)
      async let one = failure {
        _ = try await near.secured(as: "other.test", by: client, timeout: round % 4 == 0 ? .milliseconds(1) : nil)
      }
      if round % 4 == 1 { try await far.write("rubbish that is no record of TLS") }
      if round % 4 != 0 {
        let other = await failure { _ = try await far.secured(by: server) }
        precondition(other != nil)
      }
      let error = await one
      precondition(error != nil)
    }
    // The loop lets go in its next turn.
    while openDescriptors() != before { await Task.yield() }
  }
}

private func openDescriptors() -> Int {
  (0..<4_096).count { fcntl($0, F_GETFD) != -1 }
}
