import Glibc
import Rondo
import RondoPorts
import RondoSockets
import Testing

/// Joining and leaving a loop may run other people's code, which may touch the very port that joins or leaves.
@Suite struct PortMembershipTests {
  /// The ways of touching a port.
  enum Touch: String, CaseIterable {
    case asks, leaves, joins, invalidates
  }

  /// Either end, as far as loops are concerned.
  private enum Port {
    case local(LocalMessagePort)
    case remote(RemoteMessagePort)

    func isIn(_ loop: Loop) -> Bool {
      switch self {
      case .local(let port): loop.contains(port)
      case .remote(let port): loop.contains(port)
      }
    }

    func touch(_ touch: Touch, _ loop: Loop) {
      switch (touch, self) {
      case (.asks, .local(let port)): _ = (port.isValid, port.connectionCount, loop.contains(port))
      case (.asks, .remote(let port)): _ = (port.isValid, loop.contains(port))
      case (.leaves, .local(let port)): loop.remove(port)
      case (.leaves, .remote(let port)): loop.remove(port)
      case (.joins, .local(let port)): loop.add(port)
      case (.joins, .remote(let port)): loop.add(port)
      case (.invalidates, .local(let port)): port.invalidate()
      case (.invalidates, .remote(let port)): port.invalidate()
      }
    }
  }

  @Test(arguments: Touch.allCases, [(false, false), (false, true), (true, false), (true, true)])
  func `a schedule handler may touch the port that joins or leaves`(
    _ touch: Touch, _ which: (isRemote: Bool, isLeaving: Bool)
  ) throws {
    let outcome = try withinAMinute { () -> [Bool] in
      let loop = Loop.current
      let name = try uniqueName()
      let local = try LocalMessagePort(name) { _ in }
      let port = which.isRemote ? Port.remote(try RemoteMessagePort(name)) : .local(local)
      let touches = Box(0)
      let touched = port
      let nosy = Loop.Source(schedule: { loop, mode in
        guard mode == "later" else { return }
        touched.touch(touch, loop)
        touches.change { $0 += 1 }
      }) {}
      loop.add(nosy, to: .common)
      if which.isLeaving {
        // It stays in another mode: one that leaves its last is invalid inside, for which no mail is applied.
        switch port {
        case .local(let port): loop.add(port, to: "other")
        case .remote(let port): loop.add(port, to: "other")
        }
        port.touch(.joins, loop)
      }
      // The mode becomes common when the loop's thread next looks at its mail, which is when it adds or removes.
      try onThread { loop.addCommonMode("later") }
      port.touch(which.isLeaving ? .leaves : .joins, loop)
      return [touches.value == 1, port.isIn(loop)]
    }
    // The handler's word comes after that of whoever caused it, except where it speaks of a port gone for good.
    let isMember = which.isLeaving ? touch == .joins : touch != .leaves && touch != .invalidates
    #expect(outcome == [true, isMember])
  }

  @Test func `a port that two threads put in and take out stays whole`() throws {
    let reply = try withinAMinute { () -> String? in
      let name = try uniqueName()
      let served = RunningLoop()
      let port = try LocalMessagePort(name) { try? $0.reply($0.bytes) }
      served.loop.add(port)
      // Connections and their items come and go with the port.
      let remotes = try (0..<4).map { _ in try RemoteMessagePort(name) }
      let workers = (0..<2).map { number in
        TestThread {
          for _ in 0..<1_000 {
            if number == 0 { served.loop.add(port) } else { served.loop.remove(port) }
          }
        }
      }
      for worker in workers { try worker.join() }
      served.loop.add(port)
      return try remotes.map { try $0.ask("a") ?? "" }.joined()
    }
    #expect(reply == "aaaa")
  }

  @Test func `a port goes to another loop with its connections, and back`() throws {
    let replies = try withinAMinute { () -> [String?] in
      let name = try uniqueName()
      let loops = [RunningLoop(), RunningLoop()]
      let port = try LocalMessagePort(name) { try? $0.reply($0.bytes) }
      var replies: [String?] = []
      loops[0].loop.add(port)
      let remote = try RemoteMessagePort(name)
      for round in 0..<20 {
        replies.append(try remote.ask("\(round)"))
        loops[round % 2].loop.remove(port)
        #expect(loops[1 - round % 2].loop.add(port))
      }
      return replies
    }
    #expect(replies == (0..<20).map { "\($0)" })
  }
}

/// Runs `body` on a thread of its own; nil if that hangs.
private func withinAMinute<Value>(_ body: @escaping @Sendable () throws -> Value) throws -> Value? {
  let result = Box<Result<Value, any Error>?>(nil)
  let thread = TestThread { result.value = Result(catching: body) }
  waitUntil { result.value != nil }
  guard let outcome = result.value else { return nil }
  try thread.join()
  return try outcome.get()
}
