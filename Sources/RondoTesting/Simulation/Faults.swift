internal import Glibc
internal import Rondo

/// The faults of a simulation's machines. *the thread of the simulation*
///
/// A fault is planned, or comes by chance. The seed picks the faults by chance: without a seed there are none. A trait that
/// leaves out choices of a seed leaves out faults.
public final class Faults: @unchecked Sendable {
  // Unchecked: all of it belongs to the thread of the simulation.

  /// A kind of system call that can fail on a simulated host.
  ///
  /// EINTR, of a call on a socket that there is, has it made again, as on a real host.
  public enum Call: Hashable, Sendable, CaseIterable {
    /// A socket is made: EMFILE, ENFILE, ENOBUFS, ENOMEM.
    case socket
    /// listen(2), bind(2): EADDRINUSE, EACCES.
    case bind
    /// connect(2): ENETUNREACH, EADDRNOTAVAIL.
    case connect
    /// accept4(2): EMFILE, ENFILE, ENOBUFS, ENOMEM, ECONNABORTED, EPERM.
    case accept
    /// send(2), sendmsg(2) and sendfile(2): ENOBUFS, ENOMEM, ECONNRESET. A short one sends a part.
    case send
    /// recv(2): ENOMEM, ECONNRESET. A short one gets a part.
    case receive
    /// A name is looked up by a `Resolver`: ENOENT, EAGAIN, ETIMEDOUT.
    ///
    /// ENOENT is a name that no host has, EAGAIN name servers that do not reply. With ETIMEDOUT there is never an answer, and the
    /// lookup ends by its own timeout.
    case lookUp
  }

  private struct Plan {
    let call: Call
    let errno: CInt
    /// Nil for all hosts.
    let host: ObjectIdentifier?
    /// How many calls pass before; nil for one that comes by chance.
    var left: Int?
    var oneIn = 0
    /// Whether all calls from then on fail.
    var isLasting = false

    var sentence: String { "\(call) failed with \(describe(errno: errno))" }
  }

  private let timeline: Timeline
  private var plans: [Plan] = []
  private var shorts: [Call: Int] = [:]
  private var breaks: Int?
  private var counts: [Call: Int] = [:]
  /// How many connections have been broken by chance.
  package private(set) var brokenConnections = 0

  init(_ timeline: Timeline) { self.timeline = timeline }

  /// Has one call fail: the next one, or the `nth`.
  ///
  /// - Parameters:
  ///   - errno: Of errno(3).
  ///   - nth: 1 is the next call.
  ///   - host: The host whose calls count; nil for those of all hosts.
  public func fail(_ call: Call, with errno: CInt, nth: Int = 1, on host: Host? = nil) {
    require(nth > 0 && errno > 0, "Calls are counted from 1, the next one, and an errno is more than 0.")
    plans.append(Plan(call: call, errno: errno, host: host.map(ObjectIdentifier.init), left: nth - 1))
  }

  /// Has all calls from the `nth` on fail, until `clear()`.
  ///
  /// So fails a call that a filter of system calls refuses.
  ///
  /// - Parameter nth: The first call that fails; 1 is the next one.
  public func fail(_ call: Call, with errno: CInt, from nth: Int, on host: Host? = nil) {
    require(nth > 0 && errno > 0, "Calls are counted from 1, the next one, and an errno is more than 0.")
    require(errno != EINTR, "A call that EINTR ends again and again is made for ever.")
    plans.append(
      Plan(call: call, errno: errno, host: host.map(ObjectIdentifier.init), left: nth - 1, isLasting: true))
  }

  /// Has calls fail by chance.
  ///
  /// - Parameter oneIn: How many calls pass for each one that fails, on average.
  public func fail(_ call: Call, with errno: CInt, oneIn: Int, on host: Host? = nil) {
    require(oneIn > 0 && errno > 0, "One call in \(oneIn) is no chance, or \(errno) no errno.")
    require(oneIn > 1 || errno != EINTR, "A call that EINTR ends again and again is made for ever.")
    plans.append(Plan(call: call, errno: errno, host: host.map(ObjectIdentifier.init), left: nil, oneIn: oneIn))
  }

  /// Has calls that send or receive move a part of the bytes, by chance.
  ///
  /// - Parameters:
  ///   - call: `.send` or `.receive`.
  ///   - oneIn: How many calls pass for each one that is short, on average.
  public func shorten(_ call: Call, oneIn: Int) {
    require(call == .send || call == .receive, "Only calls that send or receive can be short, not \(call).")
    require(oneIn > 0, "One in \(oneIn) is no chance.")
    shorts[call] = oneIn
  }

  /// Has connections break as bytes arrive, by chance.
  public func resetConnections(oneIn: Int) {
    require(oneIn > 0, "One in \(oneIn) is no chance.")
    breaks = oneIn
  }

  /// Adds faults that any server meets, by chance; each seed leaves some out.
  ///
  /// They are no descriptors for sockets, no memory where a connection is accepted or bytes are sent, short reads, short
  /// writes, and connections that break.
  public func swarm(oneIn: Int) {
    let all: [(name: String, add: () -> Void)] = [
      ("no descriptors for sockets", { self.fail(.socket, with: EMFILE, oneIn: oneIn) }),
      ("no descriptors for connections", { self.fail(.accept, with: EMFILE, oneIn: oneIn) }),
      ("no memory for connections", { self.fail(.accept, with: ENOMEM, oneIn: oneIn) }),
      ("no memory to send", { self.fail(.send, with: ENOBUFS, oneIn: oneIn) }),
      ("short writes", { self.shorten(.send, oneIn: max(1, oneIn / 4)) }),
      ("short reads", { self.shorten(.receive, oneIn: max(1, oneIn / 4)) }),
      ("connections that break", { self.resetConnections(oneIn: oneIn) }),
    ]
    for (name, add) in all where timeline.happens(oneIn: 2, { "the swarm of faults had \(name)" }) { add() }
  }

  /// Ends all faults, those that were planned too.
  public func clear() { (plans, shorts, breaks) = ([], [:], nil) }

  /// How many calls of a kind have failed, or have been shortened.
  public func count(of call: Call) -> Int { counts[call] ?? 0 }

  /// How many faults there have been.
  public var count: Int { counts.values.reduce(brokenConnections, +) }

  // MARK: - The machine asks

  /// The errno that a call fails with; 0 if it does not.
  func strike(_ call: Call, on host: Host) -> CInt {
    for place in plans.indices {
      let plan = plans[place]
      guard plan.call == call, plan.host == nil || plan.host == ObjectIdentifier(host) else { continue }
      if let left = plan.left {
        guard left == 0 else {
          plans[place].left = left - 1
          continue
        }
        if !plan.isLasting { plans.remove(at: place) }
        timeline.tell(on: host.address) { plan.sentence + ", as planned" }
      } else if !timeline.happens(oneIn: plan.oneIn, on: host.address, { plan.sentence }) {
        continue
      }
      counts[call, default: 0] += 1
      return plan.errno
    }
    return 0
  }

  /// Whether a connection breaks as bytes of it arrive.
  func breaksConnection(to host: Host) -> Bool {
    guard let breaks, timeline.happens(oneIn: breaks, on: host.address, { "a connection broke as bytes arrived" })
    else { return false }
    brokenConnections += 1
    return true
  }

  /// How many of so many bytes a call moves.
  func shorten(_ bytes: Int, _ call: Call, on host: Host) -> Int {
    guard bytes > 1, let oneIn = shorts[call],
      timeline.happens(oneIn: oneIn, on: host.address, { "\(call) moved a part of \(bytes) bytes" })
    else { return bytes }
    counts[call, default: 0] += 1
    return 1 + timeline.choose(among: bytes - 1, on: host.address) { "the part was of \($0 + 1) bytes" }
  }
}
