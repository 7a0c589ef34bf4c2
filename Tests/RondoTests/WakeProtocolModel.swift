import Rondo

/// One loop and a few posters around the wake protocol, every step atomic: what the exploration walks through.
struct WakeModel {
  /// What a poster does, once.
  enum Post: Hashable, CaseIterable {
    /// A block: mail under the lock, then the announcement, waking.
    case block
    /// A block that leaves a sleeping loop asleep.
    case quietBlock
    /// A source: an entry in the stack, then the announcement, waking.
    case signal
    /// A source that leaves a sleeping loop asleep.
    case quietSignal
    case wakeUp
    case stop
    case requestStop

    var bits: WakeProtocol.Bits {
      switch self {
      case .block: [.mail, .wake]
      case .quietBlock: .mail
      case .signal: [.signals, .wake]
      case .quietSignal: .signals
      case .wakeUp: .wake
      case .stop: [.stop, .wake]
      case .requestStop: [.stopRequest, .wake]
      }
    }
  }

  /// Where a poster is.
  enum PosterStep: Int {
    case push, post, write, wrote, done
  }

  /// Where the loop is.
  enum LoopStep: Int {
    case takeMailBits, takeMail, takeSignals, takePosts, lookOrSleep, look, inKernel, woke
    case close, awaitWriters, closed
  }

  struct Poster {
    let posts: [Post]
    /// How many of them are still to be made.
    var left: Int
    var step = PosterStep.push
  }

  var protocolWord = WakeProtocol()
  var posters: [Poster]
  var loop = LoopStep.takeMailBits
  /// Blocks in the mailbox, by whether their poster wanted the loop awake.
  var wakingMail = 0
  var quietMail = 0
  /// Sources in the stack, likewise.
  var wakingSignals = 0
  var quietSignals = 0
  /// The loop has taken the announcement of signals, and not the signals yet.
  var owesSignals = false
  /// The eventfd was written since the kernel last reported it.
  var hasEdge = false
  /// Writes decided since the loop last announced sleep.
  var writesThisSleep = 0
  /// The turn under way saw a wakeup and does not sleep.
  var staysAwake = false
  var mayClose = false
  /// A timer or a descriptor may end a sleep at any time.
  var mayWakeByItself = false
  /// The error put into the machine, to see that the exploration finds it.
  var flaw = Flaw.none

  enum Flaw: Hashable, CaseIterable {
    case none, noSecondLook, writeForgotten, writeWhileAwake, announcementKept, closeDoesNotWait
  }

  init(_ posts: [[Post]], mayClose: Bool = false, mayWakeByItself: Bool = false, flaw: Flaw = .none) {
    posters = posts.map { Poster(posts: $0, left: $0.count) }
    self.mayClose = mayClose
    self.mayWakeByItself = mayWakeByItself
    self.flaw = flaw
  }

  /// Every state one atomic step away, with what that step did wrong, if anything.
  func successors() -> [(state: WakeModel, fault: String?)] {
    var found = loopSteps()
    for index in posters.indices where posters[index].step != .done {
      var next = self
      let fault = next.movePoster(index)
      found.append((next, fault))
    }
    return found
  }

  /// What tells the states of one exploration apart, as a number: hundreds of thousands of them are looked up.
  var number: Int {
    // Each part has more bits than it needs: at most three posters post, four times together.
    var number = Int(protocolWord.word) << 40
    number |= wakingMail << 36 | quietMail << 33 | wakingSignals << 30 | quietSignals << 27 | writesThisSleep << 24
    number |= (owesSignals ? 1 << 23 : 0) | (hasEdge ? 1 << 22 : 0) | (staysAwake ? 1 << 21 : 0)
    number |= loop.rawValue << 15
    for index in posters.indices { number |= (posters[index].left << 3 | posters[index].step.rawValue) << (5 * index) }
    return number
  }

  /// Whether nothing that was announced is still waiting, in a state that nothing but a new post can leave.
  var restFault: String? {
    if loop == .closed { return nil }
    guard loop == .inKernel else { return "the loop is stuck at \(loop)" }
    if wakingMail > 0 { return "asleep for ever with announced mail" }
    if wakingSignals > 0 { return "asleep for ever with an announced signal" }
    if protocolWord.hasAny([.wake, .stop, .stopRequest]) { return "asleep for ever with a wakeup posted" }
    if protocolWord.hasWriters { return "a writer was never released" }
    return nil
  }
}

// MARK: - Steps

extension WakeModel {
  private mutating func movePoster(_ index: Int) -> String? {
    let post = posters[index].posts[posters[index].posts.count - posters[index].left]
    switch posters[index].step {
    case .push:
      if post == .block { wakingMail += 1 }
      if post == .quietBlock { quietMail += 1 }
      if post == .signal { wakingSignals += 1 }
      if post == .quietSignal { quietSignals += 1 }
      posters[index].step = .post
    case .post:
      return announce(post, index)
    case .write:
      posters[index].step = .wrote
      if loop == .closed { return "a write to a closed descriptor" }
      hasEdge = true
    case .wrote:
      protocolWord.wrote()
      finishPost(index)
    case .done:
      break
    }
    return nil
  }

  private mutating func announce(_ post: Post, _ index: Int) -> String? {
    let isAnnounced = loop == .inKernel || loop == .woke
    var action = protocolWord.post(post.bits)
    if flaw == .writeForgotten, action == .write {
      protocolWord.wrote()
      action = .nothing
    }
    if flaw == .writeWhileAwake, action == .nothing, post.bits.contains(.wake) {
      protocolWord.word += WakeProtocol.oneWriter
      action = .write
    }
    if flaw == .announcementKept, action == .write { protocolWord.word |= WakeProtocol.Bits.asleep.rawValue }
    guard action == .write else {
      if action == .refused, loop != .closed, loop != .awaitWriters { return "a living loop refused a post" }
      finishPost(index)
      return nil
    }
    posters[index].step = .write
    writesThisSleep += 1
    if !isAnnounced { return "a write while the loop is awake" }
    if !post.bits.contains(.wake) { return "a write for a post that wakes nobody" }
    if writesThisSleep > 1 { return "two writes for one sleep" }
    return nil
  }

  private mutating func finishPost(_ index: Int) {
    posters[index].left -= 1
    posters[index].step = posters[index].left == 0 ? .done : .push
  }

  private func loopSteps() -> [(state: WakeModel, fault: String?)] {
    var found: [(state: WakeModel, fault: String?)] = []
    var next = self
    switch loop {
    case .takeMailBits:
      next.enterMail(next.protocolWord.take([.mail, .signals]), otherwise: .takePosts)
      if mayClose {
        var closing = self
        closing.loop = .close
        found.append((closing, nil))
      }
    case .takeMail:
      next.wakingMail = 0
      next.quietMail = 0
      next.loop = next.owesSignals ? .takeSignals : .takePosts
    case .takeSignals:
      next.wakingSignals = 0
      next.quietSignals = 0
      next.owesSignals = false
      next.loop = .takePosts
    case .takePosts:
      next.staysAwake = !next.protocolWord.take([.wake, .stop, .stopRequest]).isEmpty
      next.loop = staysAwakeStep(next)
    case .look:
      next.hasEdge = false
      next.staysAwake = false
      next.loop = .takeMailBits
    case .lookOrSleep:
      var action = next.protocolWord.prepareToSleep()
      if flaw == .noSecondLook {
        next.protocolWord.word |= WakeProtocol.Bits.asleep.rawValue
        action = .sleep
      }
      next.loop = action == .sleep ? .inKernel : .takeMailBits
      next.writesThisSleep = 0
    case .inKernel:
      guard hasEdge || mayWakeByItself else { return [] }
      next.hasEdge = false
      next.loop = .woke
    case .woke:
      next.enterMail(
        next.protocolWord.woke(taking: [.mail, .signals, .wake, .stop, .stopRequest]), otherwise: .takeMailBits)
    case .close:
      next.protocolWord.close()
      next.loop = .awaitWriters
    case .awaitWriters:
      guard !protocolWord.hasWriters || flaw == .closeDoesNotWait else { return [] }
      next.loop = .closed
    case .closed:
      return []
    }
    found.append((next, nil))
    return found
  }

  /// The loop takes what was announced: mail, then signals.
  private mutating func enterMail(_ announced: WakeProtocol.Bits, otherwise: LoopStep) {
    owesSignals = announced.contains(.signals)
    loop = announced.contains(.mail) ? .takeMail : owesSignals ? .takeSignals : otherwise
  }

  private func staysAwakeStep(_ next: WakeModel) -> LoopStep {
    next.staysAwake ? .look : .lookOrSleep
  }
}
