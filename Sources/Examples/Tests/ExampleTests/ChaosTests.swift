import Glibc
import Rondo
import RondoDaemon
import RondoSockets
import RondoTesting
import Testing

/// The example `rondo-echo` with clients that behave as badly as they can: for longer with `make chaos`.
@Suite(.serialized) struct ChaosTests {
  @Test(arguments: [0, 2])
  func `connections that come, end by half, break off and stall at random leave nothing behind`(
    _ threads: Int
  ) throws {
    let name = uniqueName("chaos")
    let seconds = Self.number("CHAOS_SECONDS") ?? 2
    let count = min(Self.number("CHAOS_CONNECTIONS") ?? 300, Self.descriptorLimit - 256)
    let seed = UInt64(Self.number("SEED") ?? 14)
    try onLoopThread { stage in
      let output = "/tmp/\(name)"
      let file = unsafe open(output, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
      defer { close(file) }
      _ = unsafe unlink(output)
      // Limits of time that no machine reaches.
      let limits = ["--idle", "3600", "--linger", "0.1", "--drain", "3600", "--threads", "\(threads)"]
      var command = ChildSource.Command(
        try program("rondo-echo"), ["--listen", "127.0.0.1:0", "--listen", "@\(name)"] + limits)
      command.output = .descriptor(file)
      command.error = .null
      let echo = try ChildSource(spawning: command) { _, exit in stage.note("\(exit)") }
      stage.loop.add(echo)
      defer { try? echo.send(SIGKILL) }
      let addresses = [try Self.address(in: file, echo), try SocketAddress.abstract(name)]
      var mob = Mob(count, addresses, SeededRandom(seed: seed))
      // One client that has gone: what a server opens and keeps, it has opened.
      mob.visit(count: 1, for: .zero)
      #expect(mob.disperse() == "")
      let descriptors = try #require(Self.settled(echo.process, atMost: .max))
      // What an allocator keeps for the next crowd, it keeps from the first.
      mob.visit(count: count, for: .milliseconds(250 * seconds))
      #expect(mob.disperse() == "")
      #expect(Self.settled(echo.process, atMost: descriptors) == descriptors)
      let memory = Self.memory(of: echo.process)
      mob.visit(count: count, for: .seconds(seconds))
      #expect(mob.disperse() == "", "seed \(seed)")
      #expect(Self.settled(echo.process, atMost: descriptors) == descriptors, "seed \(seed)")
      // What is lost with each connection shows when it is more than a hundred bytes and there have been many.
      let growth = Self.memory(of: echo.process) - memory
      #expect(
        Self.isSanitized || growth < 8 << 20 + 100 * mob.connections,
        "\(growth) bytes more after \(mob.summary), seed \(seed)")
      print("chaos, \(threads) threads: \(mob.summary); memory \(memory / 1024) KiB, then \(growth / 1024) KiB more")
      try echo.send(SIGTERM)
      stage.run { !echo.isValid }
      #expect(stage.text == "exited with 0")
    }
  }

  private static func number(_ name: String) -> Int? {
    unsafe getenv(name).flatMap { unsafe Int(String(cString: $0)) }
  }

  /// Sanitizers keep what was freed, and more beside it: no bound on memory allows for that.
  private static let isSanitized = unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil

  private static var descriptorLimit: Int {
    var limit = rlimit()
    precondition(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    return Int(clamping: limit.rlim_cur)
  }

  /// Where the server says that it listens first.
  private static func address(in file: CInt, _ echo: ChildSource) throws -> SocketAddress {
    let end = SuspendingClock.now.advanced(by: .seconds(120))
    while SuspendingClock.now < end {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = unsafe pread(file, &bytes, bytes.count, 0)
      let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
      if lines.count == 2, let text = lines[0].split(separator: " ").last {
        return try SocketAddress(parsing: String(text))
      }
      usleep(1_000)
    }
    throw SocketError.timedOut
  }

  /// How many descriptors a process has, once they are not more than `most` and no longer change.
  private static func settled(_ process: CInt, atMost most: Int) -> Int? {
    let end = SuspendingClock.now.advanced(by: .seconds(120))
    var (last, same) = (-1, 0)
    while SuspendingClock.now < end {
      let count = descriptors(of: process)
      same = count == last ? same + 1 : 0
      last = count
      if same >= 20, count <= most { return count }
      usleep(5_000)
    }
    return last
  }

  private static func descriptors(of process: CInt) -> Int {
    guard let directory = unsafe opendir("/proc/\(process)/fd") else { return -1 }
    defer { unsafe closedir(directory) }
    var count = 0
    while unsafe readdir(directory) != nil { count += 1 }
    return count - 2
  }

  /// The memory of a process that is its own, in bytes.
  private static func memory(of process: CInt) -> Int {
    guard let file = unsafe fopen("/proc/\(process)/statm", "re") else { return 0 }
    defer { unsafe fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    _ = unsafe fgets(&line, 256, file)
    let pages = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      .split(separator: " ").compactMap { Int($0) }
    return (pages[1] - pages[2]) * sysconf(CInt(_SC_PAGESIZE))
  }
}

/// Clients that do what comes to their mind.
private struct Mob {
  private var clients: [Client?]
  private let addresses: [SocketAddress]
  private var random: SeededRandom
  private(set) var connections = 0
  private var (resets, halves, stalls, bytes) = (0, 0, 0, 0)
  /// What went wrong.
  private var faults: [String] = []

  /// One of them, and how much it has said and heard. It knows what it has to hear.
  private struct Client {
    let socket: Socket
    var said = 0
    var heard = 0
    /// It says nothing more.
    var isHalf = false
    /// It does not listen.
    var isStalled = false
  }

  init(_ count: Int, _ addresses: [SocketAddress], _ random: SeededRandom) {
    clients = Array(repeating: nil, count: count)
    self.addresses = addresses
    self.random = random
  }

  var summary: String {
    "\(connections) connections, \(resets) reset, \(halves) ended by half, \(stalls) stalled, \(bytes) bytes"
  }

  /// Lets the first `count` do things for a time, each once at least.
  mutating func visit(count: Int, for time: Duration) {
    let end = SuspendingClock.now.advanced(by: time)
    repeat {
      for _ in 0..<count { act(Int(random.next() % UInt64(count))) }
    } while SuspendingClock.now < end
  }

  private mutating func act(_ index: Int) {
    guard var client = clients[index] else { return connect(index) }
    clients[index] = nil
    let isOpen: Bool
    switch random.next() % 64 {
    case 0:
      // Closing with this option set is a reset.
      var option = linger(l_onoff: 1, l_linger: 0)
      _ = unsafe setsockopt(
        client.socket.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
      resets += 1
      isOpen = false
    case 1: isOpen = false  // It goes, and leaves behind what it has not read.
    case 2...4 where !client.isHalf:
      isOpen = (try? client.socket.finishWriting()) != nil
      client.isHalf = isOpen
      halves += 1
    case 5 where stalls < connections / 20:
      client.isStalled = true
      stalls += 1
      isOpen = true
    case 6...34 where !client.isHalf: isOpen = say(&client, index)
    default: isOpen = client.isStalled || goesOn(&client, index)
    }
    if isOpen { clients[index] = client }
  }

  private mutating func connect(_ index: Int) {
    let address = addresses[Int(random.next() % 2)]
    guard let socket = try? Socket(family: address.family, .stream) else { return }
    // A full queue is no failure; there is another time.
    guard (try? socket.connect(to: address)) != nil else { return }
    connections += 1
    clients[index] = Client(socket: socket)
  }

  /// What a client says at a place.
  private static func byte(_ index: Int, _ place: Int) -> UInt8 { UInt8(truncatingIfNeeded: index &* 31 &+ place) }

  private mutating func say(_ client: inout Client, _ index: Int) -> Bool {
    // One that does not listen says no more than a server has to keep.
    guard client.said - client.heard < 256 << 10 else { return true }
    let (start, count) = (client.said, 1 + Int(random.next() % 4_096))
    let text = (start..<(start + count)).map { Self.byte(index, $0) }
    guard let sent = try? client.socket.send(text) else {
      faults.append("\(index): broken off while it spoke")
      return false
    }
    client.said += sent
    bytes += sent
    return true
  }

  /// Has a client hear what there is.
  private mutating func goesOn(_ client: inout Client, _ index: Int) -> Bool {
    guard let outcome = hear(&client, index) else { return true }
    if !outcome.isEmpty { faults.append(outcome) }
    return false
  }

  /// What went wrong with a client, empty for a good end; nil while it goes on.
  private func hear(_ client: inout Client, _ index: Int) -> String? {
    while true {
      guard let received = try? client.socket.receive() else { return "\(index): broken off" }
      switch received {
      case .nothing, .datagram: return nil
      case .end:
        return client.isHalf && client.heard == client.said ? "" : "\(index): \(client.heard) of \(client.said)"
      case .bytes(let bytes):
        for (offset, byte) in bytes.enumerated() where byte != Self.byte(index, client.heard + offset) {
          return "\(index): wrong at \(client.heard + offset)"
        }
        client.heard += bytes.count
      }
    }
  }

  /// All that are left say no more, and hear to the end: what went wrong.
  mutating func disperse() -> String {
    let end = SuspendingClock.now.advanced(by: .seconds(240))
    for index in clients.indices { clients[index]?.isStalled = false }
    while clients.contains(where: { $0 != nil }), SuspendingClock.now < end {
      for index in clients.indices {
        guard var client = clients[index] else { continue }
        if !client.isHalf { client.isHalf = (try? client.socket.finishWriting()) != nil }
        clients[index] = goesOn(&client, index) ? client : nil
      }
    }
    faults += clients.indices.filter { clients[$0] != nil }.map { "\($0): still there" }
    clients = Array(repeating: nil, count: clients.count)
    return faults.prefix(5).joined(separator: ", ")
  }
}
