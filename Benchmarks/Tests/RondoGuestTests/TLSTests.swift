#if RONDO_TLS
  import CGuests
  import Glibc
  import Rondo
  import RondoGuests
  import RondoSockets
  import RondoTLS
  import Synchronization
  import Testing

  /// TLS connections in a loop: what they agree on, what they refuse, and how they end.
  @Suite struct TLSTests {
    @Test(arguments: [Loop.Mode.default, "tls"]) func `both ends shake hands, in their mode alone`(mode: Loop.Mode)
      async
    {
      await withPair(clientProtocols: ["h3", "http/1.1"], serverProtocols: ["h2", "http/1.1"], mode: mode) { pair in
        if mode != .default {
          pair.stage.loop.run(for: .milliseconds(20))
          #expect(pair.client.events.isEmpty && pair.server.events.isEmpty)
          let loop = pair.stage.loop
          while pair.server.events.isEmpty || pair.client.events.isEmpty {
            loop.run(in: mode, for: .seconds(60), returnAfterSourceHandled: true)
          }
        }
        #expect(pair.connect())
        for end in [pair.client, pair.server] {
          #expect(end.connection.version == "TLSv1.3" && end.connection.applicationProtocol == "http/1.1")
        }
      }
    }

    @Test(arguments: ["rondo.test", "one.many.test", "127.0.0.1"]) func `a certificate is good for its hosts`(
      host: String
    ) async {
      await withPair(host: host) { pair in #expect(pair.connect()) }
    }

    @Test(arguments: ["other.test", "many.test", "a.b.many.test", "127.0.0.2", "::1"])
    func `a certificate of another host is refused, and both are told`(host: String) async {
      await withPair(host: host) { pair in
        #expect(pair.run { pair.client.failure != nil && pair.server.failure != nil })
        #expect(pair.client.events == [.failed(.certificate(.wrongHost(expected: host)))])
        #expect(pair.client.failure.map { "\($0)" }?.contains(host) == true)
        #expect(pair.server.failure == .refused(alert: "bad certificate"))
        #expect(!pair.client.connection.isValid && !pair.server.connection.isValid)
      }
    }

    @Test(arguments: [
      "", ".test", ".", "rondo.test.", "a..b", "rondo.test\0.other", "127.0.0.1\0", "*.many.test", "rondo test",
      "röndo.test",
    ])
    func `a host that no certificate can be checked against is refused before a byte is sent`(host: String) async {
      await onLoop { stage in
        do {
          let (left, right) = try Socket.pair()
          let connection = TLSConnection(over: left, as: host, with: try Certificates.client()) { _, _ in
            Issue.record("\(host) was connected to")
          }
          #expect(throws: TLSError.host(host)) { try stage.loop.add(connection) }
          connection.invalidate()
          #expect(try right.receive() == .nothing)
        } catch {
          Issue.record(error)
        }
      }
    }

    @Test func `a certificate's common name counts for nothing`() async {
      await withPair(host: "named.test", server: "named.test") { pair in
        #expect(pair.run { pair.client.failure != nil && pair.server.failure != nil })
        #expect(pair.client.events == [.failed(.certificate(.wrongHost(expected: "named.test")))])
      }
    }

    @Test func `an idle connection is bounded unless the program says otherwise`() async {
      #expect(TLSConnection.Limits().idle == .seconds(300))
    }

    @Test func `a certificate out of its time, or of a stranger, is refused`() async {
      let problems: [(String, TLSError.CertificateProblem?, String)] = [
        ("expired", .expired, "certificate expired"), ("early", .notYetValid, "bad certificate"),
        ("untrusted", nil, "unknown CA"),
      ]
      for (name, problem, alert) in problems {
        await withPair(server: name) { pair in
          #expect(pair.run { pair.client.failure != nil && pair.server.failure != nil })
          switch pair.client.failure {
          case .certificate(.untrusted(let text)): #expect(problem == nil && !text.isEmpty)
          case .certificate(let found): #expect(found == problem)
          default: Issue.record("\(name): \(String(describing: pair.client.failure))")
          }
          #expect(pair.server.failure == .refused(alert: alert))
        }
      }
    }

    @Test func `who has no protocol in common is refused`() async {
      await withPair(clientProtocols: ["h3"], serverProtocols: ["h2"]) { pair in
        #expect(pair.run { pair.client.failure != nil && pair.server.failure != nil })
        #expect(pair.client.failure == .refused(alert: "no application protocol"))
      }
    }

    // MARK: - Data

    @Test func `a mebibyte goes to the server and comes back, byte for byte`() async {
      await withPair { pair in
        let data = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        var rest = data[...]
        let push = {
          while !rest.isEmpty, !pair.client.connection.isCongested {
            // Not a multiple of anything that is TLS's.
            try? pair.client.connection.send(rest.prefix(10_007))
            rest = rest.dropFirst(10_007)
          }
        }
        // Sent before the handshake is over, it waits for that.
        push()
        pair.client.told = { if $0 == .writable { push() } }
        // The server takes no more while its own answer waits.
        pair.server.told = { event in
          if case .received(let bytes) = event { try? pair.server.connection.send(bytes) }
          pair.server.connection.isReceiving = !pair.server.connection.isCongested
        }
        #expect(pair.run { pair.client.received.count >= data.count || pair.client.failure != nil })
        #expect(pair.client.received == data && pair.server.received == data)
        #expect(pair.client.connection.queuedByteCount == 0)
      }
    }

    @Test func `what is sent in one piece is told as sent`() async {
      await withPair { pair in
        pair.client.send("word")
        #expect(pair.run { pair.server.text == "word" })
        #expect(pair.client.events == [.connected, .sent])
        #expect(throws: TLSError.queueFull(limit: 1 << 20)) {
          try pair.client.connection.send([UInt8](repeating: 0, count: 1 << 20 + 1))
        }
        pair.client.send("")
        pair.server.send("back")
        #expect(pair.run { pair.client.text == "back" })
        #expect(pair.client.events == [.connected, .sent])
      }
    }

    @Test func `a peer that does not read fills the queue to its bound and no further`() async {
      var limits = TLSConnection.Limits()
      limits.queue = 256 * 1024
      await withPair(limits: limits) { pair in
        let limit = pair.client.connection.limits.queue
        #expect(pair.connect())
        pair.server.connection.isReceiving = false
        let piece = [UInt8](repeating: 7, count: 8_192)
        var sent = 0
        var isFull = false
        // Until the kernel takes no more.
        while !isFull {
          do throws(TLSError) {
            try pair.client.connection.send(piece)
            sent += piece.count
          } catch {
            #expect(error == .queueFull(limit: limit))
            let before = pair.client.connection.queuedByteCount
            pair.stage.loop.run(for: .milliseconds(50))
            isFull = pair.client.connection.queuedByteCount == before
          }
        }
        #expect(pair.client.connection.queuedByteCount <= limit && pair.client.connection.isCongested)
        #expect(pair.server.received.isEmpty)
        #expect(!pair.client.events.contains(.writable))
        let before = pair.stage.loop.statistics.turns
        pair.stage.loop.run(for: .milliseconds(100))
        // Nobody is awake for it.
        #expect(pair.stage.loop.statistics.turns - before <= 3)
        pair.server.connection.isReceiving = true
        #expect(pair.run { pair.server.received.count == sent && pair.client.events.contains(.sent) })
        #expect(pair.client.events.filter { $0 == .writable }.count == 1)
        #expect(pair.server.received.allSatisfy { $0 == 7 })
      }
    }

    @Test func `who pauses between two pieces of one record is told the rest`() async {
      await withPair { pair in
        #expect(pair.connect())
        let data = [UInt8](repeating: 3, count: 100_000)
        pair.server.told = { event in
          guard case .received = event else { return }
          pair.server.connection.isReceiving = false
          pair.stage.loop.perform { if pair.server.connection.isValid { pair.server.connection.isReceiving = true } }
        }
        try pair.client.connection.send(data)
        #expect(pair.run { pair.server.received == data })
      }
    }

    // MARK: - Ends

    @Test func `either side ends by itself, and the other one may go on`() async {
      await withPair { pair in
        #expect(pair.connect())
        pair.client.send("question")
        try pair.client.connection.finishSending()
        #expect(throws: TLSError.sendingFinished) { try pair.client.connection.send([1]) }
        #expect(pair.run { pair.server.events.contains(.end) })
        #expect(pair.server.text == "question" && pair.client.connection.isValid)
        pair.server.send("answer")
        #expect(pair.run { pair.client.text == "answer" })
        pair.server.connection.close()
        #expect(pair.run { pair.client.events.last == .end && !pair.server.connection.isValid })
        #expect(pair.client.events == [.connected, .sent, .end])
        #expect(pair.server.events == [.connected, .end, .sent])
      }
    }

    @Test func `close sends what waits, and is over when the peer has closed as well`() async {
      await withPair { pair in
        let data = [UInt8](repeating: 9, count: 500_000)
        #expect(pair.connect())
        try pair.client.connection.send(data)
        pair.client.connection.close(within: .seconds(60))
        pair.client.connection.close(within: .zero)
        #expect(throws: TLSError.invalid) { try pair.client.connection.send([1]) }
        pair.server.told = { if $0 == .end { pair.server.connection.close() } }
        #expect(pair.run { !pair.client.connection.isValid && !pair.server.connection.isValid })
        #expect(pair.server.received == data && pair.server.events == [.connected, .end])
        // Nobody is told of what he has closed.
        #expect(pair.client.events == [.connected])
      }
    }

    @Test func `close does not wait for ever for a peer that does not answer`() async {
      await withPair { pair in
        #expect(pair.connect())
        let clock = SuspendingClock()
        let start = clock.now
        pair.client.connection.close(within: .milliseconds(30))
        #expect(pair.run { !pair.client.connection.isValid })
        #expect(clock.now - start >= .milliseconds(30))
        #expect(pair.run { pair.server.events == [.connected, .end] })
      }
    }

    @Test func `a connection that is cut without close_notify is told as cut`() async {
      await withPair { pair in
        #expect(pair.connect())
        pair.client.send("half of")
        #expect(pair.run { pair.client.events.contains(.sent) })
        try pair.client.connection.socket?.finishSending()
        #expect(pair.run { pair.server.failure != nil })
        #expect(pair.server.events == [.connected, .failed(.truncated)] && pair.server.text == "half of")
      }
    }

    @Test func `invalidating says goodbye if nothing waits, and cuts if something does`() async {
      await withPair { pair in
        #expect(pair.connect())
        pair.client.connection.invalidate()
        #expect(pair.run { pair.server.events == [.connected, .end] })
      }
      await withPair { pair in
        #expect(pair.connect())
        pair.client.send("never sent")
        pair.client.connection.invalidate()
        #expect(pair.run { pair.server.events == [.connected, .failed(.truncated)] && pair.server.received.isEmpty })
      }
    }

    @Test func `a peer that resets the connection is told, and no signal comes of sending to it`() async {
      await onLoop { stage in
        do {
          let listener = try Socket.listening(at: .loopback())
          let client = End()
          client.connection = try TLSConnection(
            connectingTo: try #require(listener.localAddress), as: "rondo.test", with: Certificates.client()
          ) { _, event in client.hear(event) }
          try stage.loop.add(client.connection)
          var accepted: Socket?
          #expect(
            stage.run {
              if accepted == nil { accepted = (try? listener.accept())?.socket }
              return accepted != nil
            })
          var linger = linger(l_onoff: 1, l_linger: 0)
          setsockopt(
            accepted!.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
          accepted = nil
          #expect(stage.run { client.failure != nil })
          #expect(client.events == [.failed(.connection(.reset))])
        } catch {
          Issue.record(error)
        }
      }
    }

    @Test func `a server that is not there is an error of its own`() async {
      await onLoop { stage in
        do {
          let socket = try Socket(family: AF_INET, .stream)
          try socket.bind(to: .loopback())
          // Bound, and nobody listens.
          let client = End()
          client.connection = try TLSConnection(
            connectingTo: try #require(socket.localAddress), as: "rondo.test", with: Certificates.client()
          ) { _, event in client.hear(event) }
          try stage.loop.add(client.connection)
          #expect(stage.run { client.failure != nil })
          #expect(client.events.count == 1)
          guard case .failed(.connection(.refused)) = client.events.first else {
            Issue.record("\(client.events)")
            return
          }
        } catch SocketError.refused {
          // Told at once, which is as good.
        } catch {
          Issue.record(error)
        }
      }
    }

    @Test(arguments: [
      "GET / HTTP/1.0\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}rubbish", String(repeating: "\u{0}", count: 64),
    ])
    func `who does not speak TLS is told apart`(rubbish: String) async {
      await withRawClient { stage, server, client in
        _ = try client.send(Array(rubbish.utf8)[...])
        #expect(stage.run { server.failure != nil || server.events.isEmpty && rubbish.hasSuffix("rubbish") })
        if rubbish.hasSuffix("rubbish") { try client.finishSending() }
        #expect(stage.run { server.failure != nil })
        switch server.failure {
        case .violation(let text): #expect(!text.isEmpty)
        case .truncated: #expect(rubbish.hasSuffix("rubbish"))
        default: Issue.record("\(String(describing: server.failure))")
        }
      }
    }

    // MARK: - Time

    @Test func `a handshake that never comes is given up, not early`() async {
      var limits = TLSConnection.Limits()
      limits.handshake = .milliseconds(30)
      await withRawClient(limits: limits) { stage, server, _ in
        let start = SuspendingClock.now
        #expect(stage.run { server.failure != nil })
        #expect(server.events == [.failed(.handshakeTimedOut(after: .milliseconds(30)))])
        #expect(SuspendingClock.now - start >= .milliseconds(30))
      }
    }

    @Test func `whoever moves nothing for too long is cut, not early`() async {
      var limits = TLSConnection.Limits()
      limits.idle = .milliseconds(40)
      await withPair(limits: limits) { pair in
        let start = SuspendingClock.now
        #expect(pair.run { pair.client.failure != nil && pair.server.failure != nil })
        #expect(pair.client.failure == .idle(for: .milliseconds(40)))
        #expect(SuspendingClock.now - start >= .milliseconds(40))
      }
    }

    @Test func `a stall of the process cuts nobody whose bytes wait`() async {
      var limits = TLSConnection.Limits()
      limits.idle = .milliseconds(30)
      // The client moves nothing while the process stands still, and would be cut.
      await withPair(serverLimits: limits) { pair in
        #expect(pair.connect())
        for count in 1...5 {
          pair.client.send("word ")
          // The bytes lie there before the limit is over, and are looked at when it has been for long.
          #expect(pair.run { pair.client.connection.queuedByteCount == 0 })
          usleep(60_000)
          #expect(pair.run { pair.server.received.count == 5 * count || pair.server.failure != nil })
        }
        #expect(pair.server.failure == nil && pair.client.failure == nil)
      }
    }

    // MARK: - In callouts

    @Test func `a connection can be ended in each of its own callouts`() async {
      for moment in 0..<5 {
        await withPair { pair in
          pair.server.told = { event in
            switch event {
            case .connected where moment == 0, .received where moment == 1, .end where moment == 2:
              pair.server.connection.invalidate()
              #expect(!pair.server.connection.isValid)
            case .received: pair.server.send("answer")
            default: break
            }
          }
          pair.client.told = { event in
            switch event {
            case .connected: pair.client.send("question")
            case .sent where moment == 3: pair.client.connection.invalidate()
            case .received where moment != 4: try? pair.client.connection.finishSending()
            case .failed where moment == 4: pair.client.connection.invalidate()
            default: break
            }
          }
          if moment == 4 {
            #expect(pair.run { pair.client.text == "answer" })
            try pair.server.connection.socket?.finishSending()
          }
          #expect(
            pair.run { !(moment < 3 ? pair.server : pair.client).connection.isValid })
        }
      }
    }

    @Test func `a run that is nested in a callout serves the rest of the loop`() async {
      await withPair { pair in
        pair.client.told = { event in
          guard event == .connected else { return }
          pair.stage.loop.add(
            Loop.Timer(after: .milliseconds(1)) { _ in
              pair.stage.note("timer")
              pair.stage.loop.stop()
            })
          #expect(pair.stage.run())
          pair.stage.note("back")
        }
        #expect(pair.connect())
        #expect(pair.stage.text == "timer back")
      }
    }

    @Test func `a thread that ends takes its connections with it`() async throws {
      let (left, right) = try Socket.pair()
      let isGone = Mutex(false)
      let kept = Mutex<TLSConnection?>(nil)
      await onLoop { stage in
        let owner = Owner { isGone.withLock { $0 = true } }
        do {
          let connection = TLSConnection(accepting: right, with: try Certificates.server()) { _, _ in _ = owner }
          try stage.loop.add(connection)
          stage.loop.run(for: .milliseconds(1))
          kept.withLock { $0 = connection }
        } catch {
          Issue.record(error)
        }
      }
      // Its thread has ended, or is about to.
      let end = SuspendingClock.now.advanced(by: .seconds(60))
      while !isGone.withLock({ $0 }), SuspendingClock.now < end { usleep(1_000) }
      #expect(isGone.withLock { $0 })
      #expect(kept.withLock { $0?.isValid } == false)
      _ = left
    }

    private final class Owner: Sendable {
      private let end: @Sendable () -> Void
      init(_ end: @escaping @Sendable () -> Void) { self.end = end }
      deinit { end() }
    }

    @Test func `connections leave no descriptor behind, however they end`() async {
      // Other tests open and close descriptors at the same time.
      await #expect(processExitsWith: .success) {
        try openAndClose()
      }
    }

    // MARK: - Contexts

    @Test func `files that are not what they should be are errors with a reason`() throws {
      func error(_ chain: String, _ key: String) -> TLSError? {
        do {
          _ = try TLSServerContext(certificateChain: Certificates.path(chain), privateKey: Certificates.path(key))
          return nil
        } catch {
          return error
        }
      }
      #expect(error("server.pem", "server.key") == nil)
      let missing = Certificates.path("missing.pem")
      #expect(
        error("missing.pem", "server.key") == .certificateChain(path: missing, reason: "No such file or directory"))
      #expect(error("server.pem", "expired.key").map { if case .keyMismatch = $0 { true } else { false } } == true)
      guard case .certificateChain(_, let reason) = error("server.key", "server.key") else {
        Issue.record("a key is no certificate")
        return
      }
      #expect(reason == "no start line")
      // It is not asked for on the terminal.
      guard case .privateKey(let path, _) = error("locked.pem", "locked.key") else {
        Issue.record("a key with a password")
        return
      }
      #expect(path == Certificates.path("locked.key"))
      #expect(
        throws: TLSError.authorities(path: missing, reason: "No such file or directory")
      ) { try TLSClientContext(trusting: .authorities(file: missing)) }
      _ = try TLSClientContext()
    }
  }

  /// A thousand connections that are ended in the middle of their handshakes, or after them.
  private func openAndClose() throws {
    let loop = Loop.current
    let client = try Certificates.client()
    let server = try Certificates.server()
    // The mode's base has descriptors of its own.
    try loop.withEventBase { _ in }
    let before = openDescriptors()
    for round in 0..<25 {
      var ends: [TLSConnection] = []
      for _ in 0..<20 {
        let (left, right) = try Socket.pair()
        ends.append(TLSConnection(over: left, as: "rondo.test", with: client) { _, _ in })
        ends.append(TLSConnection(accepting: right, with: server) { _, _ in })
      }
      for end in ends { try loop.add(end) }
      loop.run(for: .milliseconds(round))
      for end in ends { round.isMultiple(of: 2) ? end.invalidate() : end.close(within: .milliseconds(1)) }
      loop.run(for: .milliseconds(5))
    }
    precondition(openDescriptors() == before)
  }

  private func openDescriptors() -> Int {
    (0..<4_096).count { fcntl($0, F_GETFD) != -1 }
  }
#endif
