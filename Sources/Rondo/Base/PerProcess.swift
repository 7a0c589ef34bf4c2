package import Synchronization

/// A value behind a lock, which each process has for itself: a forked child begins with a new one.
///
/// The child leaves its parent's where it is: a thread that it does not have may hold that lock, or have been about to
/// change that value.
@safe package final class PerProcess<Value>: @unchecked Sendable {
  @usableFromInline
  final class Copy {
    /// *constant*
    @usableFromInline let generation = ProcessGeneration.current
    /// *constant*
    @usableFromInline let value: Guarded<Value>

    @usableFromInline
    init(_ value: Value) {
      self.value = Guarded(value)
    }
  }

  /// *atomic* The copy of the process that asked last. That of another process is never freed. Ordering: a thread that
  /// finds a copy sees what its maker wrote to it.
  @usableFromInline let copy: Atomic<Unmanaged<Copy>>
  /// *constant*
  @usableFromInline let make: @Sendable () -> Value

  package init(_ make: @escaping @Sendable @autoclosure () -> Value) {
    self.make = make
    unsafe copy = Atomic(.passRetained(Copy(make())))
  }

  deinit {
    if isOwn { unsafe copy.load(ordering: .acquiring).release() }
  }

  /// Whether this process has asked for its value: a forked child has not at first. Takes no lock.
  package var isOwn: Bool {
    unsafe copy.load(ordering: .acquiring).takeUnretainedValue().generation == ProcessGeneration.current
  }

  /// Nothing may be called out inside `body`, nor anything of the user's released.
  @inlinable
  package func withLock<Answer, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    let known = unsafe copy.load(ordering: .acquiring).takeUnretainedValue()
    return try (known.generation == ProcessGeneration.current ? known : renew(known)).value.withLock(body)
  }

  @usableFromInline @inline(never)
  func renew(_ parents: Copy) -> Copy {
    let made = unsafe Unmanaged.passRetained(Copy(make()))
    let (isFirst, found) = unsafe copy.compareExchange(
      expected: .passUnretained(parents), desired: made, ordering: .sequentiallyConsistent)
    if !isFirst { unsafe made.release() }
    return unsafe (isFirst ? made : found).takeUnretainedValue()
  }
}
