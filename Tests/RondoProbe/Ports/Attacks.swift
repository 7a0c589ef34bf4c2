import CLinux
import Glibc
import Rondo
import RondoPorts
import RondoSockets

/// What a sender does to exhaust a port that has the default options.
enum Attack: String, CaseIterable {
  /// Many requests at once, each with a reply of 256 KiB that nobody reads, on every connection there is room for.
  case burst
  /// 64 messages one byte short of 16 MiB.
  case halves
  /// 40,000 requests of 4 KiB that the handler keeps, from senders that go and come again.
  case kept
  /// 200,000 of a byte, likewise.
  case crumbs
  /// As many half headers as there are connections.
  case headers
}

/// Attacks a port of this process, and says how much memory that cost at most: the kernel's word, and the port's.
func probeAttack(_ attack: Attack) {
  do {
    let name = try MessagePortName("attack-\(getpid())")
    var kept: [MessagePortRequest] = []
    let reply = [UInt8](repeating: 1, count: 256 << 10)
    let port = try LocalMessagePort(name) { request in
      switch (attack, request.identifier) {
      case (_, 9): try? request.reply(request.bytes)
      case (.kept, _), (.crumbs, _): kept.append(request)
      default: try? request.reply(reply)
      }
    }
    let loop = Loop.current
    loop.add(port)
    loop.run(for: .zero)
    let before = residentBytes()
    let (isDone, most) = (Guarded(false), Guarded(0))
    let sampler = Loop.Observer(.all) { _ in most.withLock { $0 = max($0, port.heldByteCount) } }
    loop.add(sampler)
    let attacker = Thread {
      strike(attack, name)
      isDone.withLock { $0 = true }
      loop.wakeUp()
    }
    while !isDone.withLock({ $0 }) { loop.run(for: .milliseconds(20)) }
    // What these senders sent is still to be served, though they have gone.
    while attack == .kept || attack == .crumbs,
      loop.run(for: .milliseconds(200), returnAfterSourceHandled: true) == .handledSource
    {}
    attacker.join()
    print("rss-mib", (peakResidentBytes() - before) >> 20)
    print("held-mib", most.withLock { $0 } >> 20)
    print("limit-mib", port.options.memoryLimit >> 20)
    print("connections", port.connectionCount)
    print("kept", kept.count)
  } catch {
    print("\(error)")
    exit(1)
  }
}

/// The attack, and an honest request at its end. On a thread of its own.
private func strike(_ attack: Attack, _ name: MessagePortName) {
  var sockets: [Socket] = []
  switch attack {
  case .burst:
    let burst = (1...3_276).flatMap { Frame(.request, serial: UInt32($0)).encoded }
    for _ in 0..<min(400, MessagePortOptions.usualConnectionLimit) { sockets += push(burst, name) }
  case .halves:
    var half = Frame(.request, serial: 1, [UInt8](repeating: 7, count: 16 << 20)).encoded
    half.removeLast()
    for _ in 0..<64 { sockets += push(half, name) }
  case .kept: pushAndGo(200, of: 4_096, name)
  case .crumbs: pushAndGo(1_000, of: 1, name)
  case .headers:
    for _ in 0..<MessagePortOptions.usualConnectionLimit {
      sockets += push(Array(Frame(.request, serial: 1).encoded.prefix(9)), name)
    }
  }
  usleep(100_000)
  _ = sockets
}

/// Sends 200 requests of that many bytes from each of so many connections, one after another.
private func pushAndGo(_ connections: Int, of length: Int, _ name: MessagePortName) {
  let payload = [UInt8](repeating: 1, count: length)
  let requests = (1...200).flatMap { Frame(.request, serial: UInt32($0), payload).encoded }
  for _ in 0..<connections { _ = push(requests, name) }
}

/// Sends what a new connection takes; gives up when it has been ended.
private func push(_ bytes: [UInt8], _ name: MessagePortName) -> [Socket] {
  do {
    let address = try name.address
    let socket = try Socket(family: address.family, .stream)
    try socket.connect(to: address, timeout: .seconds(60))
    try socket.send(bytes, timeout: .seconds(60))
    return [socket]
  } catch {
    return []
  }
}

private func residentBytes() -> Int { status("VmRSS:") }

private func peakResidentBytes() -> Int { status("VmHWM:") }

/// A line of /proc/self/status, in bytes.
private func status(_ key: String) -> Int {
  let file = unsafe open("/proc/self/status", O_RDONLY)
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: 8192)
  let count = unsafe read(file, &bytes, bytes.count)
  let lines = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
  let words = lines.first { $0.hasPrefix(key) }?.split(whereSeparator: { $0 == " " || $0 == "\t" })
  return words.flatMap { Int($0[1]) }.map { $0 << 10 } ?? 0
}
