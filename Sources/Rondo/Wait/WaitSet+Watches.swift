import CLibevent
import Glibc

/// What a wait set watches for its mode's descriptor sources, by descriptor number: each step O(1), whoever shares it.
extension WaitSet {
  private typealias Number = UnsafeMutablePointer<rondo_number>
  private typealias Raw = UnsafeMutablePointer<rondo_watch>

  /// Brings the kernel in line with what a source wants.
  ///
  /// At most one epoll_ctl(2) for each direction that changes, and one fstat(2) if it wanted nothing before. One more
  /// epoll_ctl if it joins others at a descriptor that is edge-triggered or has no inode of its own.
  ///
  /// - Parameter mode: The mode's index.
  /// - Returns: The sources that turn out to have lost their file.
  func watch(
    _ source: Loop.DescriptorSource, _ token: Token, in mode: Int, _ wanted: Loop.DescriptorSource.Readiness,
    _ slots: SlotTable
  ) -> [FallenSource] {
    var fallen: [FallenSource] = []
    let place = slots[token].watches.firstIndex { $0.mode == mode }
    let isNew = place.map { slots[token].watches[$0].interest.isEmpty } ?? true
    if isNew {
      guard source.hasItsFile else { return [FallenSource(source: source, reason: .descriptorClosed)] }
      if let number = unsafe number(of: source.descriptor), unsafe number.pointee.flags != 0 {
        if unsafe !isConfirmed(number, for: source) { unsafe fallen += forget(number, reason: .descriptorClosed) }
        let rivals = unsafe source.trigger == .edge ? number.pointee.levels : number.pointee.edges
        if rivals > 0 { return fallen + [FallenSource(source: source, reason: .mixedTriggers)] }
      }
    }
    let raw = unsafe place.map { unsafe slots[token].watches[$0].raw } ?? join(source, token)
    if let place {
      slots[token].watches[place].interest = wanted
    } else {
      unsafe slots[token].watches.append(DescriptorWatch(mode: mode, raw: raw, interest: wanted))
    }
    unsafe rondo_watch_want(raw, UInt32(wanted.rawValue))
    let number = unsafe raw.pointee.number!
    let outcome = unsafe rondo_number_update(number, base?.pointer, source.descriptor)
    if outcome.has_moved != 0 {
      // The file that was watched is not the one under the number. A new source is for the one that is.
      mayHaveOrphans = true
      unsafe fallen += forget(number, reason: .descriptorClosed, but: isNew ? raw : nil)
      if isNew { unsafe fallen += insist(number, source, raw) }
    } else if outcome.error == EBADF {
      unsafe fallen += forget(number, reason: .descriptorClosed)
    } else if outcome.error != 0 {
      unsafe rondo_watch_want(raw, 0)
      _ = unsafe rondo_number_update(number, base?.pointer, source.descriptor)
      fallen.append(FallenSource(source: source, reason: .refused(errno: outcome.error)))
    }
    return fallen
  }

  /// Forgets a source: nothing of it is reported afterwards. At most one epoll_ctl(2) for each direction that ends.
  ///
  /// - Returns: Sources of the same number that turn out to have lost their file.
  func unwatch(
    _ source: Loop.DescriptorSource, _ token: Token, in mode: Int, _ slots: SlotTable
  ) -> [FallenSource] {
    guard let place = slots[token].watches.firstIndex(where: { $0.mode == mode }) else { return [] }
    let raw = unsafe slots[token].watches.remove(at: place).raw
    let number = unsafe raw.pointee.number!
    unsafe rondo_watch_want(raw, 0)
    unsafe rondo_watch_free(raw)
    let outcome = unsafe rondo_number_update(number, base?.pointer, source.descriptor)
    if outcome.has_moved != 0 { mayHaveOrphans = true }
    if unsafe number.pointee.first == nil {
      unsafe numbers[Int(source.descriptor)] = nil
      unsafe free(number)
      return []
    }
    return outcome.has_moved != 0 ? unsafe forget(number, reason: .descriptorClosed) : []
  }

  /// Asks the kernel, in a new base, for all that was watched.
  func watchAgain() -> [FallenSource] {
    var fallen: [FallenSource] = []
    for descriptor in unsafe numbers.indices {
      guard let number = unsafe numbers[descriptor], let first = unsafe number.pointee.first else { continue }
      guard unsafe Self.source(of: first).hasItsFile else {
        unsafe fallen += forget(number, reason: .descriptorClosed)
        continue
      }
      let error = unsafe rondo_number_update(number, base?.pointer, CInt(descriptor)).error
      if error != 0 { unsafe fallen += forget(number, reason: .refused(errno: error)) }
    }
    return fallen
  }

  /// Has the kernel forget all that is watched; `watchAgain()` asks for it anew.
  func stopWatching() {
    for descriptor in unsafe numbers.indices {
      if let number = unsafe numbers[descriptor] { _ = unsafe rondo_number_stop(number) }
    }
  }

  /// Lets go of a number with all its watches, whose sources are gone.
  private func discardWatches(_ number: Number) {
    while let watch = unsafe number.pointee.first { unsafe rondo_watch_free(watch) }
  }

  func discard(_ number: UnsafeMutablePointer<rondo_number>) {
    _ = unsafe rondo_number_stop(number)
    unsafe discardWatches(number)
    unsafe free(number)
  }

  // MARK: - One number

  private func number(of descriptor: CInt) -> Number? {
    unsafe Int(descriptor) < numbers.count ? numbers[Int(descriptor)] : nil
  }

  /// A watch that wants nothing yet, at its source's number.
  private func join(_ source: Loop.DescriptorSource, _ token: Token) -> Raw {
    let index = Int(source.descriptor)
    let missing = unsafe index + 1 - numbers.count
    if missing > 0 {
      unsafe numbers.append(contentsOf: repeatElement(nil, count: missing))
    }
    let number: Number
    if let known = unsafe numbers[index] {
      unsafe number = known
    } else {
      unsafe number = rondo_number_new(collection)
    }
    unsafe numbers[index] = number
    let borrowed = unsafe Unmanaged.passUnretained(source).toOpaque()
    return unsafe rondo_watch_new(number, borrowed, token.packed, source.trigger == .edge ? 1 : 0)
  }

  private static func source(of watch: Raw) -> Loop.DescriptorSource {
    unsafe Unmanaged<Loop.DescriptorSource>.fromOpaque(watch.pointee.source).takeUnretainedValue()
  }

  /// Whether what is watched under a number is the file of a source that is about to join.
  ///
  /// Files without an inode of their own look alike: then the kernel is asked. It is asked for edges, too, for it tells
  /// the newcomer of those that the others have been told.
  private func isConfirmed(_ number: Number, for source: Loop.DescriptorSource) -> Bool {
    if let first = unsafe number.pointee.first, unsafe Self.source(of: first).identity != source.identity {
      return false
    }
    guard let base, unsafe !source.identity.isUnique || Int32(number.pointee.flags) & EV_ET != 0 else { return true }
    return unsafe rondo_number_confirm(number, base.epoll, source.descriptor) == 0
  }

  /// Gives up the watches of a number, whose file is gone.
  ///
  /// - Parameter exception: A watch that is kept, wanting nothing.
  private func forget(
    _ number: Number, reason: Loop.DescriptorSource.InvalidationReason, but exception: Raw? = nil
  ) -> [FallenSource] {
    mayHaveOrphans = true
    unsafe rondo_number_forget(number)
    var fallen: [FallenSource] = []
    var next = unsafe number.pointee.first
    while let watch = unsafe next {
      if unsafe watch != exception {
        unsafe fallen.append(FallenSource(source: Self.source(of: watch), reason: reason))
      }
      unsafe next = watch.pointee.next
    }
    return fallen
  }

  /// Registers the only source of a number that is still wanted.
  private func insist(_ number: Number, _ source: Loop.DescriptorSource, _ raw: Raw) -> [FallenSource] {
    unsafe rondo_watch_want(raw, UInt32(source.enabled.rawValue))
    let error = unsafe rondo_number_update(number, base?.pointer, source.descriptor).error
    return error == 0 ? [] : [FallenSource(source: source, reason: .refused(errno: error))]
  }
}
