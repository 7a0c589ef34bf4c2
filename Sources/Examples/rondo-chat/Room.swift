import Rondo
import RondoAsync
import RondoDaemon
import RondoSockets

/// The members, and what they say to each other. An actor of the loop: what happens on the loop is in it already.
actor Room {
  nonisolated let loop: Loop
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
  private var members: [Int: Member] = [:]
  private var lastNumber = 0
  private var isClosed = false

  /// How many bytes may wait for a member that does not read.
  static let mostWaiting = 256 * 1024
  /// How long a line may be.
  static let longestLine = 4_096

  private struct Member {
    let source: SocketSource
    let work: Daemon.Work
    var name: String
    /// The beginning of a line whose end has yet to come.
    var line: [UInt8] = []
  }

  init(on loop: Loop) {
    self.loop = loop
  }

  var count: Int { members.count }

  func join(_ socket: Socket, _ work: Daemon.Work) {
    // The connection was accepted in the last moment.
    if isClosed { return work.end() }
    lastNumber += 1
    let number = lastNumber
    // A member that floods the room is read from more slowly.
    let limiter = RateLimiter(.init(100, per: .seconds(1)))
    let source = SocketSource(
      socket, for: .data,
      handler: limiter.limiting(isolated(to: self) { room, _, event in room.happened(event, to: number) }))
    members[number] = Member(source: source, work: work, name: "guest-\(number)")
    loop.add(source, to: .common)
    tell(number, "* Welcome, guest-\(number). /name NAME, /who, /quit")
    tellAll("* guest-\(number) has come", but: number)
  }

  private func happened(_ event: SocketSource.Event, to number: Int) {
    switch event {
    case .received(let bytes): hear(bytes, from: number)
    case .end: leave(number, "has gone")
    case .failed(let error): leave(number, "has gone: \(error)")
    default: break
    }
  }

  // MARK: - What they say

  private func hear(_ bytes: [UInt8], from number: Int) {
    for part in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      // What precedes the first end of a line belongs to the line before, and what follows the last is one to come.
      if part.offset > 0, let line = members[number]?.line {
        members[number]?.line = []
        obey(String(decoding: line, as: UTF8.self).filter(Self.isPrinted), from: number)
      }
      members[number]?.line += part.element
      if members[number]?.line.count ?? 0 > Self.longestLine { return leave(number, "has said too much at once") }
    }
  }

  private static func isPrinted(_ character: Character) -> Bool {
    character.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
  }

  private func obey(_ line: String, from number: Int) {
    guard let member = members[number] else { return }
    let words = line.split(separator: " ", maxSplits: 1)
    switch (words.first, words.count) {
    case (nil, _): break
    case ("/quit", _): leave(number, "has gone")
    case ("/who", _): tell(number, "* " + members.keys.sorted().map { members[$0]!.name }.joined(separator: ", "))
    case ("/name", 2):
      let name = String(words[1].prefix(32))
      // No member may have the name of a guest to come.
      guard !name.hasPrefix("guest-"), !members.values.contains(where: { $0.name == name }) else {
        return tell(number, "* \(name) is taken")
      }
      members[number]?.name = name
      tellAll("* \(member.name) is \(name) now")
    case (let word?, _) where word.hasPrefix("/"): tell(number, "* /name NAME, /who, /quit")
    default: tellAll("\(member.name): \(line)", but: number)
    }
  }

  // MARK: - What they are told

  private func tellAll(_ text: String, but exception: Int? = nil) {
    var texts = [text][...]
    while let text = texts.popFirst() {
      for number in members.keys.sorted() where number != exception && !hears(number, text) {
        // The others do not wait for a member that does not read.
        if let member = remove(number) { texts.append("* \(member.name) \(Self.deaf)") }
      }
    }
  }

  private func tell(_ number: Int, _ text: String) {
    if !hears(number, text) { leave(number, Self.deaf) }
  }

  private static let deaf = "does not listen, and has been dropped"

  /// Tells one of them; false if too much waits for him already, or he has gone.
  private func hears(_ number: Int, _ text: String) -> Bool {
    guard let source = members[number]?.source else { return true }
    return (try? source.send(Array("\(text)\n".utf8))) != nil && source.queuedByteCount <= Self.mostWaiting
  }

  private func leave(_ number: Int, _ reason: String) {
    if let member = remove(number) { tellAll("* \(member.name) \(reason)") }
  }

  private func remove(_ number: Int) -> Member? {
    let member = members.removeValue(forKey: number)
    member?.source.invalidate()
    member?.work.end()
    return member
  }

  // MARK: - The end

  /// Says goodbye; members that read it may finish, and those that do not are dropped after `grace`.
  func close(within grace: Duration) {
    isClosed = true
    tellAll("* The server ends")
    for member in members.values { try? member.source.finishWriting() }
    let end = isolated(to: self) { (room, _: Loop.Timer.Tick) in
      for number in room.members.keys { _ = room.remove(number) }
    }
    loop.add(Loop.Timer(after: grace, handler: end), to: .common)
  }
}
