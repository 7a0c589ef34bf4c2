internal import CRondo
import Rondo
import Synchronization

/// All handles of the process: their numbers, and the records behind them. Any thread, without a lock.
///
/// A handle says which record in its lower half and which generation of it in its upper one. Without a lock, because a
/// forked child may be made while another thread is anywhere.
@safe final class HandleTable: @unchecked Sendable {
  // Unchecked because pointers are not Sendable: these are constant, and what they point to is atomic or published so.

  static let shared = HandleTable()

  /// *constant* Records by the thousand, made when they are needed.
  private let chunks: UnsafeMutablePointer<Atomic<Chunk?>>
  /// *constant* Tells a forked child from its parent.
  private let process: ProcessGeneration.Word
  /// *atomic* How many records have been used.
  private let used = Atomic<UInt32>(0)
  /// *atomic* The free record that is given out next, plus one, below how often that has changed.
  private let free = Atomic<UInt64>(0)

  private typealias Chunk = UnsafeMutablePointer<HandleRecord>
  private static let chunkBits: UInt32 = 10
  private static let chunkSize = 1 << Int(chunkBits)
  private static let chunkLimit = 1 << 14
  private static let recordLimit = UInt32(chunkLimit) << chunkBits

  private init() {
    unsafe chunks = .allocate(capacity: Self.chunkLimit)
    for index in 0..<Self.chunkLimit { unsafe (chunks + index).initialize(to: Atomic(nil)) }
    unsafe process = ProcessGeneration.word
  }

  // MARK: - Finding

  /// The record of a live handle, whatever its kind.
  @inline(__always)
  func find(_ handle: UInt) throws(rondo_error) -> UnsafeMutablePointer<HandleRecord> {
    let generation = UInt32(truncatingIfNeeded: handle >> 32)
    let number = UInt32(truncatingIfNeeded: handle)
    guard generation != 0, number < Self.recordLimit, let record = unsafe record(number) else { throw failure(handle) }
    let state = unsafe HandleRecord.State(bits: record.pointee.state.load(ordering: .acquiring))
    guard state.generation == generation, state.isAnchored || state.count > 0 else { throw failure(handle) }
    if unsafe record.pointee.process != process.pointee.load(ordering: .relaxed) { throw RONDO_ERROR_FORKED }
    return unsafe record
  }

  /// The object behind a live handle of that kind, without counting a reference: the caller has one.
  @inline(__always)
  func object(_ handle: UInt, _ kind: rondo_kind) throws(rondo_error) -> Unmanaged<AnyObject> {
    let record = unsafe try find(handle)
    guard unsafe record.pointee.kind == kind, let object = unsafe record.pointee.object else { throw RONDO_ERROR_KIND }
    return unsafe object
  }

  @inline(never)
  private func failure(_ handle: UInt) -> rondo_error { handle == 0 ? RONDO_ERROR_NULL : RONDO_ERROR_HANDLE }

  @inline(__always)
  private func record(_ number: UInt32) -> UnsafeMutablePointer<HandleRecord>? {
    guard let chunk = unsafe chunks[Int(number >> Self.chunkBits)].load(ordering: .acquiring) else { return nil }
    return unsafe chunk + Int(number) & (Self.chunkSize - 1)
  }

  // MARK: - Making

  /// A handle that cannot be used before `publish`. With neither of these, `abandon` gives it back.
  func reserve() throws(rondo_error) -> UInt {
    let number: UInt32
    if let recycled = takeFree() {
      number = recycled
    } else {
      number = try appendRecord()
    }
    let record = unsafe self.record(number)!
    let state = unsafe HandleRecord.State(bits: record.pointee.state.load(ordering: .relaxed))
    return UInt(state.generation) << 32 | UInt(number)
  }

  /// Has a reserved handle stand for an object.
  ///
  /// - Parameters:
  ///   - isAnchored: Whether `unanchor` will follow.
  ///   - isOwned: Whether it begins with one reference, and keeps the object for that.
  func publish(_ handle: UInt, _ object: AnyObject, _ kind: rondo_kind, isAnchored: Bool, isOwned: Bool) {
    let record = unsafe self.record(UInt32(truncatingIfNeeded: handle))!
    unsafe record.pointee.object = isOwned ? .passRetained(object) : .passUnretained(object)
    unsafe record.pointee.kind = kind
    // A child that was forked behind the library's back learns of it here, at the latest.
    _ = ProcessGeneration.current
    unsafe record.pointee.process = process.pointee.load(ordering: .relaxed)
    let state = HandleRecord.State(
      generation: UInt32(truncatingIfNeeded: handle >> 32), isAnchored: isAnchored, count: isOwned ? 1 : 0)
    unsafe record.pointee.state.store(state.bits, ordering: .releasing)
  }

  private func appendRecord() throws(rondo_error) -> UInt32 {
    let number = used.add(1, ordering: .relaxed).oldValue
    guard number < Self.recordLimit else {
      used.subtract(1, ordering: .relaxed)
      throw RONDO_ERROR_MEMORY
    }
    if unsafe record(number) == nil { makeChunk(Int(number >> Self.chunkBits)) }
    unsafe record(number)!.pointee.state.store(HandleRecord.State.unused.next.bits, ordering: .relaxed)
    return number
  }

  private func makeChunk(_ index: Int) {
    let chunk = Chunk.allocate(capacity: Self.chunkSize)
    for index in 0..<Self.chunkSize { unsafe (chunk + index).initialize(to: HandleRecord()) }
    let (isMade, _) = unsafe chunks[index].compareExchange(
      expected: nil, desired: chunk, ordering: .acquiringAndReleasing)
    // Another thread has made it since.
    if !isMade { unsafe chunk.deallocate() }
  }

  // MARK: - Having and letting go

  /// One reference more.
  func retain(_ handle: UInt) throws(rondo_error) {
    let record = unsafe try find(handle)
    let old = unsafe try change(record, handle) { (state) throws(rondo_error) in
      guard let more = state.with(count: state.count + 1) else { throw RONDO_ERROR_MEMORY }
      return more
    }
    if old.count == 0 { _ = unsafe record.pointee.object?.retain() }
  }

  /// One reference less. May let go of the object.
  func release(_ handle: UInt) throws(rondo_error) {
    let record = unsafe try find(handle)
    let object = unsafe record.pointee.object
    let old = unsafe try change(record, handle) { (state) throws(rondo_error) in
      guard state.count > 0, let fewer = state.with(count: state.count - 1) else { throw RONDO_ERROR_RELEASED }
      return fewer.isOver ? fewer.next : fewer
    }
    guard old.count == 1 else { return }
    if !old.isAnchored { giveBack(UInt32(truncatingIfNeeded: handle)) }
    unsafe object?.release()
  }

  /// Whether a release would be the last.
  func isLastReference(_ handle: UInt) throws(rondo_error) -> Bool {
    let record = unsafe try find(handle)
    return unsafe HandleRecord.State(bits: record.pointee.state.load(ordering: .relaxed)).count == 1
  }

  /// The library will not call with the handle again.
  func unanchor(_ handle: UInt) {
    let record = unsafe self.record(UInt32(truncatingIfNeeded: handle))!
    let old = unsafe try? change(record, handle) { (state) throws(rondo_error) in
      state.withoutAnchor.isOver ? state.withoutAnchor.next : state.withoutAnchor
    }
    if let old, old.withoutAnchor.isOver { giveBack(UInt32(truncatingIfNeeded: handle)) }
  }

  /// Gives back a reserved handle that was not published.
  func abandon(_ handle: UInt) { unanchor(handle) }

  /// - Returns: The state before.
  private func change(
    _ record: UnsafeMutablePointer<HandleRecord>, _ handle: UInt,
    _ change: (HandleRecord.State) throws(rondo_error) -> HandleRecord.State
  ) throws(rondo_error) -> HandleRecord.State {
    var seen = unsafe HandleRecord.State(bits: record.pointee.state.load(ordering: .relaxed))
    while true {
      guard seen.generation == UInt32(truncatingIfNeeded: handle >> 32) else { throw RONDO_ERROR_HANDLE }
      let (exchanged, now) = unsafe record.pointee.state.compareExchange(
        expected: seen.bits, desired: try change(seen).bits, ordering: .acquiringAndReleasing)
      if exchanged { return seen }
      seen = HandleRecord.State(bits: now)
    }
  }

  // MARK: - Free records

  private func takeFree() -> UInt32? {
    var seen = free.load(ordering: .acquiring)
    while true {
      guard seen & 0xFFFF_FFFF != 0 else { return nil }
      let number = UInt32(truncatingIfNeeded: seen) - 1
      let next = unsafe record(number)!.pointee.nextFree.load(ordering: .relaxed)
      let (exchanged, now) = free.compareExchange(
        expected: seen, desired: (seen >> 32 &+ 1) << 32 | UInt64(next), ordering: .acquiringAndReleasing)
      if exchanged { return number }
      seen = now
    }
  }

  private func giveBack(_ number: UInt32) {
    let record = unsafe self.record(number)!
    var seen = free.load(ordering: .relaxed)
    while true {
      unsafe record.pointee.nextFree.store(UInt32(truncatingIfNeeded: seen), ordering: .relaxed)
      let (exchanged, now) = free.compareExchange(
        expected: seen, desired: (seen >> 32 &+ 1) << 32 | UInt64(number + 1), ordering: .acquiringAndReleasing)
      if exchanged { return }
      seen = now
    }
  }
}
