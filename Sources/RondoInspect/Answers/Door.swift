internal import CRondoInspect
import Glibc
import Rondo

/// The process's socket, and its clients. *watcher's thread*
///
/// What comes in is a word and a line feed; what goes out is the answer, and the end. No client can hold the watcher
/// up: one that sends too much or nothing, or takes no answer, is sent away, and there is room for a few at a time.
@safe final class Door: @unchecked Sendable {
  private let socket: CInt
  /// The user that opened it, and alone may come in.
  private let user: uid_t
  private var source: Loop.DescriptorSource?
  private var guests: [CInt: Guest] = [:]
  private let answer: Answering

  /// Answers a question by `reply`, later perhaps. What it returns then ends the work for a guest that has gone.
  typealias Answering = (_ question: Question, _ reply: @escaping @Sendable (String) -> Void) -> (() -> Void)?

  /// At a time.
  private static let guestLimit = 8
  /// Bytes of a question.
  private static let questionLimit = 256
  /// To send the question, and then for each part of the answer.
  private static let patience = Duration.seconds(5)

  /// Without descriptors, and after too many have come.
  private static let pause = Duration.seconds(1)
  /// Within a pause's time.
  private static let comerLimit = 128
  private var comers = 0
  private var firstCame = ContinuousClock.now

  /// A client that asks.
  private final class Guest: @unchecked Sendable {
    let descriptor: CInt
    var source: Loop.DescriptorSource?
    var timer: Loop.Timer?
    var question: [UInt8] = []
    var hasAsked = false
    /// Ends the work on the answer.
    var giveUp: (() -> Void)?
    var isAnswering = false
    var answer: [UInt8] = []
    var sent = 0

    init(_ descriptor: CInt) {
      self.descriptor = descriptor
    }
  }

  /// - Parameter socket: Listens already, and is closed at the end.
  init?(socket: CInt, user: uid_t, answer: @escaping Answering) {
    self.socket = socket
    self.user = user
    self.answer = answer
    source = try? Loop.DescriptorSource(socket, for: .read, closesOnInvalidation: true) { [weak self] _, _ in
      self?.receive()
    }
    guard let source else {
      close(socket)
      return nil
    }
    source.name = "rondo-inspect"
    Loop.current.add(source)
  }

  func end() {
    source?.invalidate()
    for guest in guests.values { leave(guest) }
  }

  private func receive() {
    // A flood has to wait for the rest of the turn.
    for _ in 0..<Self.guestLimit {
      if isFlooded { return rest() }
      let descriptor = rondo_door_accept(socket, user)
      if descriptor == -EPERM || descriptor == -ECONNABORTED { continue }
      guard descriptor >= 0 else {
        if descriptor != -EAGAIN { rest() }
        return
      }
      guard guests.count < Self.guestLimit else {
        close(descriptor)
        continue
      }
      welcome(Guest(descriptor))
    }
  }

  /// Whether so many have come so quickly that the others have to wait: each costs a little, sent away or not.
  private var isFlooded: Bool {
    let now = ContinuousClock.now
    if now - firstCame >= Self.pause { (firstCame, comers) = (now, 0) }
    comers += 1
    return comers > Self.comerLimit
  }

  /// There are no descriptors left, or too many have come: waiting clients would be told of again and again.
  private func rest() {
    source?.enabled = []
    let timer = Loop.Timer(after: Self.pause, tolerance: Self.pause) { [weak self] _ in self?.source?.enabled = .read }
    timer.name = "rondo-inspect's pause"
    Loop.current.add(timer)
  }

  private func welcome(_ guest: Guest) {
    let number = guest.descriptor
    let source = try? Loop.DescriptorSource(number, for: .read, closesOnInvalidation: true) {
      [weak self] _, readiness in
      guard let self, let guest = guests[number] else { return }
      if guest.isAnswering { return send(guest) }
      if guest.hasAsked { hangUp(guest) } else { hear(guest) }
    }
    guard let source else {
      close(number)
      return
    }
    source.name = "rondo-inspect's guest"
    let timer = Loop.Timer(after: Self.patience, tolerance: .seconds(1)) { [weak self] _ in
      if let self, let guest = guests[number] { leave(guest) }
    }
    timer.name = "rondo-inspect's patience"
    (guest.source, guest.timer) = (source, timer)
    guests[number] = guest
    Loop.current.add(source)
    Loop.current.add(timer)
  }

  private func leave(_ guest: Guest) {
    guests[guest.descriptor] = nil
    guest.timer?.invalidate()
    guest.source?.invalidate()
    guest.giveUp.take()?()
  }

  /// A guest that awaits its answer sends no more: it has gone, or it has ended its side only.
  private func hangUp(_ guest: Guest) {
    if rondo_door_is_left(guest.descriptor) != 0 { leave(guest) } else { guest.source?.enabled = [] }
  }

  private func hear(_ guest: Guest) {
    var bytes = [UInt8](repeating: 0, count: Self.questionLimit)
    let count = unsafe rondo_door_receive(guest.descriptor, &bytes, bytes.count)
    if count == -Int(EAGAIN) || count == -Int(EINTR) { return }
    guard count > 0 else { return leave(guest) }
    guest.question += bytes.prefix(count)
    guard let end = guest.question.firstIndex(of: UInt8(ascii: "\n")) else {
      return guest.question.count < Self.questionLimit ? () : leave(guest)
    }
    guard let question = Question(String(decoding: guest.question[..<end], as: UTF8.self)) else { return leave(guest) }
    // Until it is answered, nothing is heard of this guest but that it goes.
    guest.hasAsked = true
    guest.source?.enabled = .closed
    guest.timer?.setFireDate(after: question.time + Self.patience)
    let number = guest.descriptor
    let giveUp = answer(question) { [weak self, weak guest] text in
      guard let self, let guest, guests[number] === guest else { return }
      guest.giveUp = nil
      guest.answer = Array(text.utf8)
      guest.isAnswering = true
      guest.source?.enabled = .write
      send(guest)
    }
    if !guest.isAnswering { guest.giveUp = giveUp }
  }

  private func send(_ guest: Guest) {
    while guest.sent < guest.answer.count {
      let count = unsafe guest.answer.withUnsafeBytes { bytes in
        unsafe rondo_door_send(guest.descriptor, bytes.baseAddress! + guest.sent, bytes.count - guest.sent)
      }
      if count == -Int(EAGAIN) || count == -Int(EINTR) {
        guest.timer?.setFireDate(after: Self.patience)
        return
      }
      guard count > 0 else { break }
      guest.sent += count
    }
    leave(guest)
  }
}

/// What may be asked.
enum Question: Equatable, Sendable {
  case report
  case stack
  case prometheus
  /// For so many milliseconds.
  case trace(Int)

  init?(_ text: String) {
    let words = text.split(separator: " ")
    switch (words.first, words.count) {
    case ("report", 1): self = .report
    case ("stack", 1): self = .stack
    case ("prometheus", 1): self = .prometheus
    case ("trace", 2):
      guard let milliseconds = Int(words[1]), 1...60_000 ~= milliseconds else { return nil }
      self = .trace(milliseconds)
    default: return nil
    }
  }

  /// What the answer takes besides being sent.
  var time: Duration {
    if case .trace(let milliseconds) = self { .milliseconds(milliseconds) } else { .seconds(1) }
  }
}
