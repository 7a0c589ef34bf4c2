import RondoSockets

/// Frames that wait to be sent, in order. Pure but for the sending itself.
struct SendQueue {
  /// Stands for a frame in the queue, and outlives it.
  struct Ticket {
    fileprivate let number: Int
  }

  private var frames: [[UInt8]] = []
  /// The place of the first frame in `frames`; what is before it has gone.
  private var head = 0
  /// The number of the frame at `frames[0]`.
  private var firstNumber = 0
  /// How much of the first frame has gone.
  private var sent = 0
  /// How many bytes wait.
  private(set) var count = 0
  /// How much memory they take: a frame goes when all of it has gone.
  private(set) var held = 0
  /// What an array costs beside its bytes: its header, its place here, and what malloc(3) rounds up to.
  private static let costOfFrame = 64

  var isEmpty: Bool { head == frames.count }

  mutating func append(_ frame: Frame) -> Ticket {
    let bytes = frame.encoded
    frames.append(bytes)
    count += bytes.count
    held += bytes.count + Self.costOfFrame
    return Ticket(number: firstNumber + frames.count - 1)
  }

  /// The number of the first frame that waits.
  var firstWaiting: Int { firstNumber + head }

  /// Whether a frame has been sent to its end.
  func hasSent(_ ticket: Ticket) -> Bool {
    ticket.number < firstWaiting
  }

  /// Takes a frame back of which nothing has gone yet; the beginning of one cannot be undone, and its rest follows.
  mutating func revoke(_ ticket: Ticket) {
    let place = ticket.number - firstNumber
    guard place >= head, !(place == head && sent > 0) else { return }
    count -= frames[place].count
    held -= frames[place].count + Self.costOfFrame
    frames[place] = []
    skipEmpty()
  }

  /// Sends as much as there is room for.
  mutating func send(_ send: (ArraySlice<UInt8>) throws(SocketError) -> Int) throws(SocketError) {
    while !isEmpty {
      let gone = try send(frames[head][sent...])
      if gone == 0 { return }
      sent += gone
      count -= gone
      if sent == frames[head].count {
        held -= sent + Self.costOfFrame
        frames[head] = []
        head += 1
        sent = 0
        skipEmpty()
      }
    }
  }

  /// Passes over what was taken back, and drops what has gone.
  private mutating func skipEmpty() {
    while head < frames.count, frames[head].isEmpty { head += 1 }
    guard head == frames.count || head >= 64 else { return }
    frames.removeFirst(head)
    firstNumber += head
    head = 0
  }
}
