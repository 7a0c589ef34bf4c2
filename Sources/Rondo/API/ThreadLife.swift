import CLinux
import Glibc
import Synchronization

/// A permanent thread's beginning and end, shared by its handle and the thread itself.
final class ThreadLife: @unchecked Sendable {
  /// *constant*
  private let record: ThreadRecord
  /// *constant*
  private let loop: Loop
  /// *constant*
  private let name: String
  /// *constant* What runs the thread in virtual time; nil in real time.
  private let virtual: (any VirtualThread)?
  /// *constant* Keeps the default mode from being empty. Private to this object, so no caller can remove it.
  private let keepAlive = Loop.Source {}
  /// *atomic* Set once, before the request that ends the run, so that the thread does not begin another.
  /// Ordering: the store precedes the request to stop, the thread's load follows its run. One of the two ends it.
  private let ending = Atomic<Bool>(false)
  /// *atomic* 1 when the thread is gone; a futex that joiners sleep on. Ordering: the store precedes the wake.
  private let joined = Atomic<UInt32>(0)
  /// *its own lock*
  private let state = Guarded(State())

  private struct State {
    /// The thread, until it is joined or detached.
    var handle: pthread_t?
    var hasEnded = false
    /// Tasks that wait for the end.
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  init(record: ThreadRecord, loop: Loop, name: String, virtual: (any VirtualThread)?) {
    self.record = record
    self.virtual = virtual
    self.loop = loop
    self.name = name
    loop.add(keepAlive)
  }

  var isEnding: Bool { ending.load(ordering: .sequentiallyConsistent) }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  // MARK: - Beginning

  func start(stackSize: Int?) throws(LoopThread.StartError) {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    if let stackSize {
      guard stackSize > 0, unsafe pthread_attr_setstacksize(&attributes, stackSize) == 0 else {
        throw .stackSize(stackSize)
      }
    }
    virtual?.begin { [weak self] in self?.requestEnd(.drop) }
    let life = unsafe Unmanaged.passRetained(self)
    var handle = pthread_t()
    let error = unsafe pthread_create(
      &handle, &attributes,
      { argument in
        // The thread's own reference goes before the thread does.
        let life = unsafe Unmanaged<ThreadLife>.fromOpaque(argument!).takeRetainedValue()
        life.record.adopt()
        if let virtual = life.virtual { virtual.run { life.main() } } else { life.main() }
        return nil
      }, life.toOpaque())
    guard error == 0 else {
      unsafe life.release()
      virtual?.forgo()
      throw .noThread(errno: error)
    }
    state.withLock { $0.handle = handle }
  }

  /// The thread's life from first to last. Calls out.
  private func main() {
    nameThread()
    while !isEnding { loop.run() }
    loop.serveAcceptedBlocks()
    // Before the waiters are resumed: by then, what the loop held has been freed.
    record.end()
    let waiters = state.withLock { state in
      state.hasEnded = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// The kernel keeps 15 bytes of a name; a character that does not fit in whole is left out.
  private func nameThread() {
    var bytes: [CChar] = []
    for character in name {
      let more = String(character).utf8.map { CChar(bitPattern: $0) }
      guard bytes.count + more.count <= 15 else { break }
      bytes += more
    }
    unsafe rondo_name_thread(bytes + [0])
  }

  // MARK: - End

  // A forked child has no such thread, and leaves the parent's loop alone.

  /// Has the thread end; a later `.drop` overrules an earlier `.drain`. Any thread.
  func requestEnd(_ blocks: LoopThread.Stop) {
    guard record.isOfThisProcess else { return }
    if blocks == .drop { loop.discardBlocks() }
    let isFirst = !ending.exchange(true, ordering: .sequentiallyConsistent)
    if blocks == .drop {
      loop.requestStop()
    } else if isFirst {
      // As a block, so that the blocks before it run in an ordinary run. If a run in another mode keeps it waiting, the
      // thread ends after that run.
      loop.perform { [loop] in loop.requestStop() }
    }
  }

  /// Waits until the thread is gone. Not on the thread itself.
  func join() {
    guard record.isOfThisProcess else { return }
    if let virtual { Loop.scope?.wait { virtual.hasEnded } }
    let handle = state.withLock { state in
      defer { state.handle = nil }
      return state.handle
    }
    if let handle {
      pthread_join(handle, nil)
      joined.store(1, ordering: .sequentiallyConsistent)
      unsafe rondo_futex_wake_all(unsafe joined.address())
    } else {
      while joined.load(ordering: .sequentiallyConsistent) == 0 { unsafe rondo_futex_wait(unsafe joined.address(), 0) }
    }
  }

  func waitForEnd() async {
    guard record.isOfThisProcess else { return }
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.waiters.append(continuation) }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  /// The handle was freed, on any thread.
  func release() {
    guard record.isOfThisProcess else { return }
    requestEnd(.drain)
    let handle = state.withLock { state in
      defer { state.handle = nil }
      return state.handle
    }
    if let handle { pthread_detach(handle) }
  }
}
