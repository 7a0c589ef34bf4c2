import CLinux
import Glibc
import Synchronization

extension Loop {
  /// Calls its handler when a file descriptor is ready. The loop never reads from the descriptor.
  ///
  /// It is in one loop at a time, in several modes. It is level-triggered by default: the handler is called in every
  /// turn in which the descriptor is ready. See epoll(7).
  public class DescriptorSource: Item, @unchecked Sendable {
    /// The descriptor that the loop watches.
    public let descriptor: CInt
    /// When the handler is called for a descriptor that stays ready.
    public let trigger: Trigger
    /// Whether the source closes the descriptor at its end.
    ///
    /// Its end is its invalidation, or its release in no loop. If other sources of its loop watch the descriptor then, the
    /// last one of them closes it.
    public let closesOnInvalidation: Bool
    /// *atomic* What the user wants to hear of, `Readiness` bits. Beside the handler: a callout reads no further.
    /// Ordering: see `notes`.
    let interest: Atomic<UInt8>
    /// *atomic* Whether the source is to close the descriptor yet. The one thread that clears it does. Here it takes no
    /// room. Ordering: none but its own.
    private let owesClosing: Atomic<Bool>
    /// *until released* Called on the loop's thread.
    @safe @exclusivity(unchecked) private(set) var handler: ((DescriptorSource, Readiness) -> Void)?
    /// *constant* Which file the descriptor stood for when the source was made.
    let identity: FileIdentity
    /// *its own lock, innermost*
    @safe @exclusivity(unchecked) private var reason: InvalidationReason?
    /// *constant*
    private let reasonLock = Lock()

    /// The ways in which a descriptor is ready.
    public struct Readiness: OptionSet, Hashable, Sendable, CustomStringConvertible {
      /// One bit for each way.
      public let rawValue: UInt8
      /// Makes a set from its bits.
      public init(rawValue: UInt8) { self.rawValue = rawValue }
      /// Reading does not block: there is data, end of file, or an error to fetch.
      public static let read = Readiness(rawValue: 1)
      /// Writing does not block.
      public static let write = Readiness(rawValue: 2)
      /// The peer closed the connection, or at least its sending side.
      ///
      /// A source that wants nothing else is called once for a hang-up, whatever its trigger.
      public static let closed = Readiness(rawValue: 4)

      /// The names of the ways, separated by `|`.
      public var description: String {
        let names: [(Readiness, String)] = [(.read, "read"), (.write, "write"), (.closed, "closed")]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: "|")
      }
    }

    /// When the handler of a descriptor source is called.
    public enum Trigger: Sendable, Hashable {
      /// In every turn in which the descriptor is ready.
      case level
      /// When it becomes ready; the handler reads or writes until EAGAIN.
      case edge
    }

    /// Why a descriptor source was invalidated by the loop.
    public enum InvalidationReason: Sendable, Hashable {
      /// The descriptor was closed, or its number reused, while the source was in use.
      case descriptorClosed
      /// Another source watches the same descriptor with the other trigger. The kernel has one entry for both.
      case mixedTriggers
      /// epoll refused the descriptor with this errno.
      case refused(errno: CInt)
    }

    /// Makes a source for `descriptor`. Any thread.
    ///
    /// The descriptor stays yours unless `closesOnInvalidation`: close it after the source has become invalid.
    ///
    /// - Throws: `.notOpen` for a negative or closed descriptor, `.notPollable` for a regular file or a directory.
    public init(
      _ descriptor: CInt, for interest: Readiness, trigger: Trigger = .level, order: Int = 0,
      closesOnInvalidation: Bool = false, fileID: StaticString = #fileID, line: UInt = #line,
      handler: sending @escaping (DescriptorSource, Readiness) -> Void
    ) throws(DescriptorError) {
      identity = try FileIdentity(of: descriptor)
      guard identity.isPollable else { throw .notPollable(descriptor) }
      self.descriptor = descriptor
      self.trigger = trigger
      self.closesOnInvalidation = closesOnInvalidation
      owesClosing = Atomic(closesOnInvalidation)
      self.interest = Atomic(interest.rawValue)
      self.handler = handler
      super.init(kind: .descriptor, order: order, Label(fileID: fileID, line: line))
    }

    // One that is released while it is valid is in no loop, which would have a reference.
    deinit { closeIfAsked() }

    override func releaseHandlers() {
      handler = nil
    }

    override func leaveLoops() -> Item? {
      let evicted = super.leaveLoops()
      closeIfFree()
      return evicted
    }

    override func didLeaveLoop() { closeIfFree() }

    /// The ways for which the handler is called at present. Any thread.
    ///
    /// Setting costs at most one epoll_ctl(2) for each direction that changes, at the next wait; none if you undo the
    /// change before.
    public var enabled: Readiness {
      get { Readiness(rawValue: interest.load(ordering: .relaxed)) }
      set { setInterest { _ in newValue } }
    }

    /// Calls the handler for `readiness` from now on. Any thread, O(1).
    ///
    /// It takes effect at the next wait. It costs one epoll_ctl(2) for each direction that changes, and one fstat(2) if
    /// the source wanted nothing before. It costs nothing if you undo the change before the wait.
    public func enable(_ readiness: Readiness) {
      setInterest { $0.union(readiness) }
    }

    /// Stops calls for `readiness` immediately. Any thread, O(1).
    ///
    /// It costs one epoll_ctl(2) for each direction that changes, at the next wait; none if you undo the change before.
    public func disable(_ readiness: Readiness) {
      setInterest { $0.subtracting(readiness) }
    }

    /// Why the loop invalidated the source. Nil while it is valid, and after you called `invalidate()`.
    public var invalidationReason: InvalidationReason? {
      reasonLock.withLock { reason }
    }

    private func setInterest(_ change: (Readiness) -> Readiness) {
      guard isValid else { return }
      var old = interest.load(ordering: .sequentiallyConsistent)
      while true {
        let new = change(Readiness(rawValue: old)).rawValue
        if new == old { return }
        let (exchanged, seen) = interest.compareExchange(expected: old, desired: new, ordering: .sequentiallyConsistent)
        if exchanged { break }
        old = seen
      }
      loop?.noteInterest(of: self)
    }

    /// The loop gives up on the descriptor. Calls out.
    func invalidate(because reason: InvalidationReason) {
      _ = end(because: reason)
    }

    /// The same. A source that the user has invalidated gets no reason, and of two reasons the first one counts.
    ///
    /// - Returns: Whether this call has ended it.
    final func end(because reason: InvalidationReason) -> Bool {
      end { reasonLock.withLock { self.reason = reason } }
    }

    /// Whether the descriptor's peer has hung up.
    var hasHungUp: Bool { rondo_has_hung_up(descriptor) != 0 }

    /// Closes an invalid source's descriptor if it is in no loop, whose thread would do it. Any thread.
    ///
    /// Called after the source is made invalid, and after the loop's thread has freed it: the later call finds both.
    func closeIfFree() {
      if !isValid, !isInLoop { closeIfAsked() }
    }

    /// Whether the number still stands for the file the source was made for: one fstat(2).
    var hasItsFile: Bool { (try? FileIdentity(of: descriptor)) == identity }

    /// Why the kernel cannot watch the descriptor; nil if it may.
    var obstacle: InvalidationReason? {
      if rondo_is_simulated(descriptor) != 0 { return .refused(errno: EBADF) }
      return hasItsFile ? nil : .descriptorClosed
    }

    /// The last step of invalidation, once nothing watches the descriptor: closes it, unless the number already stands
    /// for something else.
    private func closeIfAsked() {
      guard owesClosing.load(ordering: .relaxed), invalidationReason != .descriptorClosed,
        owesClosing.exchange(false, ordering: .sequentiallyConsistent), hasItsFile
      else { return }
      rondo_close(descriptor)
    }

    /// Whether it is about to close the descriptor, since it is invalid.
    var isAboutToClose: Bool { !isValid && owesClosing.load(ordering: .relaxed) }

    /// Leaves the closing to another source, which watches the descriptor still. The thread of their loop.
    func leaveClosing(to other: Loop.DescriptorSource) {
      if owesClosing.exchange(false, ordering: .sequentiallyConsistent) {
        other.owesClosing.store(true, ordering: .sequentiallyConsistent)
      }
    }
  }

  /// Why a descriptor cannot have a source.
  public enum DescriptorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The number is negative, or no open file has it.
    case notOpen(CInt)
    /// The kernel cannot wait for this kind of file, a regular file or a directory.
    case notPollable(CInt)

    /// A sentence with the cause.
    public var description: String {
      switch self {
      case .notOpen(let descriptor): "descriptor \(descriptor) is not open"
      case .notPollable(let descriptor): "descriptor \(descriptor) is a regular file or a directory; epoll refuses it"
      }
    }
  }
}

/// Which file a descriptor stands for: fstat(2)'s device, inode and type.
///
/// Descriptors without an inode of their own (eventfd, timerfd, epoll) look alike.
struct FileIdentity: Equatable {
  private let device: UInt64
  private let inode: UInt64
  private let type: UInt32

  init(of descriptor: CInt) throws(Loop.DescriptorError) {
    var raw = rondo_identity()
    guard descriptor >= 0, unsafe rondo_identify(descriptor, &raw) == 0 else { throw .notOpen(descriptor) }
    device = raw.device
    inode = raw.inode
    type = raw.type
  }

  /// Whether no other file looks like this one: those without an inode of their own have no type either.
  var isUnique: Bool {
    type != 0
  }

  /// Whether it is a device: some of them epoll refuses.
  var isDevice: Bool {
    type == S_IFCHR || type == S_IFBLK
  }

  var isPollable: Bool {
    type != S_IFREG && type != S_IFDIR
  }
}
