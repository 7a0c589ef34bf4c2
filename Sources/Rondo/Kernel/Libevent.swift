private import CLibevent
import CLinux
import Glibc

// The one file of the core that imports CLibevent. The rest of the core knows what the shim keeps by the structs below: bare
// pointers, of which no references are counted. Each is freed by its maker. *loop thread*

/// One of libevent's bases, and the epoll set behind it. *loop thread* of its maker
///
/// Costs one descriptor: libevent's pair for signals is closed, since no loop asks it for signals.
@safe package final class EventBase {
  /// The `event_base *`.
  package let pointer: OpaquePointer
  /// The number libevent most likely has its epoll set under.
  private let likelyEpoll: CInt
  /// The number of the epoll set, once it is known. libevent does not say.
  package private(set) var epoll: CInt = -1

  /// Makes a base, at the price of three descriptors for a moment.
  ///
  /// - Parameter isForeign: For other people's events: with libevent's own timers and signals, and two descriptors more.
  package init(for need: String, isForeign: Bool = false) throws(DescriptorShortage) {
    Self.watchExit
    var likely: CInt = -1
    let base = unsafe OwnDescriptors.numbers.withLock { _ in unsafe rondo_base_new(&likely, isForeign ? 1 : 0) }
    guard let base = unsafe base else {
      throw DescriptorShortage(need: need, errno: errno)
    }
    unsafe pointer = base
    likelyEpoll = likely
  }

  deinit {
    guard epoll >= 0 else { return unsafe event_base_free(pointer) }
    OwnDescriptors.numbers.withLock { numbers in
      numbers.remove(epoll)
      unsafe event_base_free(pointer)
    }
  }

  /// Finds out the epoll set's number, once, now that it watches `wakeup`: the set in which EPOLL_CTL_MOD finds it.
  ///
  /// - Parameter others: The loop's other epoll sets, which watch it as well.
  package func findEpoll(watching wakeup: CInt, besides others: [CInt]) {
    if epoll >= 0 { return }
    func isIt(_ number: CInt) -> Bool {
      if others.contains(number) { return false }
      let error = rondo_wake(number, wakeup)
      // The kernel has no memory, whatever the number is.
      if error != 0, !WaitFailure.isOfClosedDescriptor(error) {
        WaitFailure("its epoll set", number, error, in: "epoll_ctl(2)").end()
      }
      return error == 0
    }
    if isIt(likelyEpoll) {
      epoll = likelyEpoll
    } else {
      // Another thread opened something between the guess and the base.
      var (soft, hard): (UInt64, UInt64) = (0, 0)
      unsafe rondo_descriptor_limits(&soft, &hard)
      for number in 0..<CInt(clamping: max(soft, 65_536)) where isIt(number) {
        epoll = number
        break
      }
    }
    if epoll < 0 { ClosedBehindTheLoop.fail("the epoll set that was made just now", likelyEpoll, EBADF) }
    OwnDescriptors.numbers.withLock { OwnDescriptors.insert(epoll, into: &$0) }
  }

  /// Once: from here on an exit(3) by libevent is reported.
  private static let watchExit: Void = rondo_watch_exit()
}

/// What one wait set waits by, a base or none, and what a wait collects.
@safe struct EventCollection {
  fileprivate let pointer: UnsafeMutablePointer<rondo_collection>

  init() { unsafe pointer = rondo_collection_new() }

  func free() { unsafe rondo_collection_free(pointer) }

  /// A number without a watch.
  func makeNumber() -> WatchedNumber { unsafe WatchedNumber(pointer: rondo_number_new(pointer)) }

  /// Waits by `base` from now on, at first for few events at a time.
  func use(_ base: EventBase?) {
    unsafe pointer.pointee.base = base?.pointer
    unsafe pointer.pointee.is_kept = 0
    unsafe pointer.pointee.batch = UInt32(rondo_least_batch)
  }

  /// The loop's own descriptors: places in `rondo_collection.own`.
  enum Own: CInt {
    case wakeup, timer, mainQueue
  }

  /// Watches one of the loop's own, edge-triggered. 0, or errno.
  func start(_ own: Own, _ descriptor: CInt) -> CInt { unsafe rondo_own_start(pointer, own.rawValue, descriptor) }

  func stop(_ own: Own) { unsafe rondo_own_stop(pointer, own.rawValue) }

  /// The one place where a loop sleeps. 0, or errno.
  @inline(never)
  func sleepInKernel() -> CInt {
    let error = unsafe rondo_wait(pointer, 1)
    CalloutBarrier.keepFrame()
    return error
  }

  @inline(never)
  func poll() -> CInt {
    let error = unsafe rondo_wait(pointer, 0)
    CalloutBarrier.keepFrame()
    return error
  }

  /// Looks, and leaves what is ready for the next wait. 0 if nothing is; -1 if something is; else errno.
  @inline(never)
  func look() -> CInt {
    let found = unsafe rondo_look(pointer)
    CalloutBarrier.keepFrame()
    return found
  }

  /// Leaves what the last wait has collected, if any wait has, to a list, until the next wait.
  @inline(__always)
  func deliver(to list: inout ReadyList) {
    guard let first = unsafe pointer.pointee.ready else { return }
    let records = unsafe UnsafeMutableRawPointer(first).assumingMemoryBound(to: ReadyDescriptor.self)
    unsafe list.take(records, Int(pointer.pointee.count))
  }

  /// Whether the last wait has collected an edge of one of the loop's own.
  @inline(__always)
  func hasCollected(_ own: Own) -> Bool { unsafe pointer.pointee.edges & 1 << UInt32(own.rawValue) != 0 }
}

/// A descriptor that a wait found ready: a record as the C side writes it.
@safe struct ReadyDescriptor {
  private var record: rondo_ready

  init(token: Token, readiness: Loop.DescriptorSource.Readiness) {
    unsafe record = rondo_ready(token: token.packed, readiness: UInt32(readiness.rawValue), watch: nil)
  }

  @inline(__always)
  var token: Token { Token(unsafe record.token) }

  @inline(__always)
  var readiness: Loop.DescriptorSource.Readiness {
    get { .init(rawValue: UInt8(truncatingIfNeeded: unsafe record.readiness)) }
    set { unsafe record.readiness = UInt32(newValue.rawValue) }
  }
}

/// A descriptor number in one wait set: one event of libevent's for all its watches.
@safe struct WatchedNumber {
  fileprivate let pointer: UnsafeMutablePointer<rondo_number>

  /// Lets go of its watches, too. After `stop` or an update that asks for nothing.
  func free() { unsafe rondo_number_free(pointer) }

  /// The sources that watch it, in order of arrival.
  var sources: [Loop.DescriptorSource] { unsafe sources { _ in true } }

  /// The first source that the kernel is asked for. One that wants nothing may be of a file that is closed by now.
  var firstAsked: Loop.DescriptorSource? {
    var next = unsafe pointer.pointee.first
    while let watch = unsafe next, unsafe watch.pointee.interest == 0 { unsafe next = watch.pointee.next }
    return unsafe next.map { unsafe source(of: $0) }
  }

  var isUnwatched: Bool { unsafe pointer.pointee.first == nil }

  /// Whether the kernel has been asked for anything.
  var isAsked: Bool { unsafe pointer.pointee.flags != 0 }

  /// Whether the kernel has been asked for edges.
  var isAskedForEdges: Bool { unsafe Int32(pointer.pointee.flags) & EV_ET != 0 }

  /// Whether any watch wants something by the other trigger.
  func hasRivals(of trigger: Loop.DescriptorSource.Trigger) -> Bool {
    unsafe (trigger == .edge ? pointer.pointee.levels : pointer.pointee.edges) > 0
  }

  /// Asks the kernel, if there is a base, for what the watches want together.
  ///
  /// - Returns: The errno of a refusal, or 0; and whether the number turned out to stand for another file, or none.
  func update(_ descriptor: CInt) -> (error: CInt, hasMoved: Bool) {
    let outcome = unsafe rondo_number_update(pointer, descriptor)
    return (outcome.error, outcome.has_moved != 0)
  }

  /// Has the kernel report once more what is ready. Whether the file that is watched is the one under the number.
  func confirm(_ descriptor: CInt, in epoll: CInt) -> Bool {
    unsafe rondo_number_confirm(pointer, epoll, descriptor) == 0
  }

  /// Asks for nothing until the next update.
  func stop() { _ = unsafe rondo_number_stop(pointer) }

  /// The same, and no watch wants anything any more.
  ///
  /// - Returns: The sources, in order of arrival, but for that of `exception`.
  func forget(but exception: DescriptorWatch?) -> [Loop.DescriptorSource] {
    unsafe rondo_number_forget(pointer)
    return unsafe sources { unsafe $0 != exception?.pointer }
  }

  private func sources(where isMeant: (UnsafeMutablePointer<rondo_watch>) -> Bool) -> [Loop.DescriptorSource] {
    var sources: [Loop.DescriptorSource] = []
    var next = unsafe pointer.pointee.first
    while let watch = unsafe next {
      if unsafe isMeant(watch) {
        unsafe sources.append(source(of: watch))
      }
      unsafe next = watch.pointee.next
    }
    return sources
  }

  private func source(of watch: UnsafeMutablePointer<rondo_watch>) -> Loop.DescriptorSource {
    unsafe Unmanaged.fromOpaque(watch.pointee.source).takeUnretainedValue()
  }
}

/// A descriptor source's registration with the wait set of one mode.
@safe struct DescriptorWatch {
  /// Its place among the watches of its number, and among those of its source.
  fileprivate let pointer: UnsafeMutablePointer<rondo_watch>

  /// One that wants nothing yet. Its source outlives it.
  init(_ source: Loop.DescriptorSource, _ token: Token, in mode: Int, at number: WatchedNumber) {
    let borrowed = unsafe Unmanaged.passUnretained(source).toOpaque()
    unsafe pointer = rondo_watch_new(
      number.pointer, borrowed, token.packed, UInt8(mode), source.trigger == .edge ? 1 : 0)
  }

  fileprivate init(_ pointer: UnsafeMutablePointer<rondo_watch>) {
    unsafe self.pointer = pointer
  }

  /// Takes it off its number.
  func free() {
    want([])
    unsafe rondo_watch_free(pointer)
  }

  var number: WatchedNumber { unsafe WatchedNumber(pointer: pointer.pointee.number) }

  /// The mode's index.
  var mode: Int { unsafe Int(pointer.pointee.mode) }

  /// What it wants.
  var interest: Loop.DescriptorSource.Readiness { unsafe .init(rawValue: pointer.pointee.interest) }

  /// Notes what it wants from now on; its number's `update` asks the kernel for it.
  func want(_ readiness: Loop.DescriptorSource.Readiness) {
    unsafe rondo_watch_want(pointer, readiness.rawValue)
  }
}

/// The watches of one descriptor source, each in another mode: most often one. Each names the next.
@safe struct WatchList {
  private var head: UnsafeMutablePointer<rondo_watch>?

  /// The watch in the mode with this index.
  subscript(mode: Int) -> DescriptorWatch? { first { $0.mode == mode } }

  /// The first watch of which `isWanted` is true.
  func first(where isWanted: (DescriptorWatch) -> Bool) -> DescriptorWatch? {
    var next = unsafe head
    while let watch = unsafe next {
      if unsafe isWanted(DescriptorWatch(watch)) { return unsafe DescriptorWatch(watch) }
      unsafe next = watch.pointee.sibling
    }
    return nil
  }

  mutating func insert(_ watch: DescriptorWatch) {
    unsafe watch.pointer.pointee.sibling = head
    unsafe head = watch.pointer
  }

  mutating func remove(_ watch: DescriptorWatch) {
    let next = unsafe watch.pointer.pointee.sibling
    if let before = first(where: { unsafe $0.pointer.pointee.sibling == watch.pointer }) {
      unsafe before.pointer.pointee.sibling = next
    } else {
      unsafe head = next
    }
  }
}
