import Glibc

/// What a wait set watches for its mode's descriptor sources, by descriptor number: each step O(1), shared or not.
extension WaitSet {
  /// Brings the kernel in line with what a source wants.
  ///
  /// At most one epoll_ctl(2) for each direction that changes, and one fstat(2) if it wanted nothing before. One more
  /// epoll_ctl if it joins others at a descriptor that is edge-triggered or has no inode of its own.
  ///
  /// - Parameter mode: The mode's index.
  /// - Returns: The sources that turn out to have lost their file.
  func watch(
    _ source: Loop.DescriptorSource, _ token: Token, in mode: Int, _ wanted: Loop.DescriptorSource.Readiness,
    _ watches: inout WatchList
  ) -> [RejectedSource] {
    var rejected: [RejectedSource] = []
    let known = watches[mode]
    let isNew = known?.interest.isEmpty ?? true
    if isNew {
      if let reason = source.obstacle { return [RejectedSource(source: source, reason: reason)] }
      if let number = number(of: source.descriptor), number.isAsked {
        if !isConfirmed(number, for: source) { rejected += forget(number, because: .descriptorClosed) }
        if number.hasRivals(of: source.trigger) {
          return rejected + [RejectedSource(source: source, reason: .mixedTriggers)]
        }
      }
    }
    let watch = known ?? join(source, token, in: mode, &watches)
    let number = watch.number
    watch.want(wanted)
    let outcome = number.update(source.descriptor)
    if outcome.hasMoved {
      // The file that was watched is not the one under the number. A new source is for the one that is.
      mayHaveStaleRegistrations = true
      rejected += forget(number, because: .descriptorClosed, but: isNew ? watch : nil)
      if isNew { rejected += registerAgain(watch, source) }
    } else if outcome.error == EBADF {
      rejected += forget(number, because: .descriptorClosed)
    } else if outcome.error != 0 {
      watch.want([])
      _ = number.update(source.descriptor)
      rejected.append(RejectedSource(source: source, reason: .refused(errno: outcome.error)))
    }
    return rejected
  }

  /// Forgets a source: nothing of it is reported afterwards. At most one epoll_ctl(2) for each direction that ends.
  ///
  /// - Returns: Sources of the same number that turn out to have lost their file.
  func unwatch(_ source: Loop.DescriptorSource, in mode: Int, _ watches: inout WatchList) -> [RejectedSource] {
    guard let watch = watches[mode] else { return [] }
    watches.remove(watch)
    let number = watch.number
    watch.free()
    let hasMoved = number.update(source.descriptor).hasMoved
    if hasMoved { mayHaveStaleRegistrations = true }
    if number.isUnwatched {
      numbers[Int(source.descriptor)] = nil
      number.free()
      return []
    }
    return hasMoved ? forget(number, because: .descriptorClosed) : []
  }

  /// Asks the kernel, in a new base, for all that was watched.
  func watchAgain() -> [RejectedSource] {
    var rejected: [RejectedSource] = []
    for descriptor in numbers.indices {
      guard let number = numbers[descriptor], !number.isUnwatched else { continue }
      // Its sources may be of several files: one that wanted nothing was not missed when its file was closed. One fstat(2)
      // finds it for all of them.
      let file = try? FileIdentity(of: CInt(descriptor))
      let sources = number.sources
      let lost = sources.filter { $0.identity != file }
      if lost.count == sources.count {
        rejected += forget(number, because: .descriptorClosed)
        continue
      }
      rejected += lost.map { RejectedSource(source: $0, reason: .descriptorClosed) }
      let error = number.update(CInt(descriptor)).error
      if error != 0 { rejected += forget(number, because: .refused(errno: error)) }
    }
    return rejected
  }

  // MARK: - One number

  /// What is watched under a number, if anything.
  func number(of descriptor: CInt) -> WatchedNumber? {
    Int(descriptor) < numbers.count ? numbers[Int(descriptor)] : nil
  }

  /// Gives a source a watch that wants nothing yet, at its number.
  private func join(
    _ source: Loop.DescriptorSource, _ token: Token, in mode: Int, _ watches: inout WatchList
  ) -> DescriptorWatch {
    let index = Int(source.descriptor)
    let missing = index + 1 - numbers.count
    if missing > 0 { numbers.append(contentsOf: repeatElement(nil, count: missing)) }
    let number = numbers[index] ?? collection.makeNumber()
    numbers[index] = number
    let watch = DescriptorWatch(source, token, in: mode, at: number)
    watches.insert(watch)
    return watch
  }

  /// Whether what is watched under a number is the file of a source that is about to join.
  ///
  /// Files without an inode of their own look alike: then the kernel is asked. It is asked about edge-triggered numbers
  /// as well, for it then repeats, for the newcomer, the edges that the others have had.
  private func isConfirmed(_ number: WatchedNumber, for source: Loop.DescriptorSource) -> Bool {
    if let first = number.firstAsked, first.identity != source.identity { return false }
    guard let base, !source.identity.isUnique || number.isAskedForEdges else { return true }
    return number.confirm(source.descriptor, in: base.epoll)
  }

  /// Gives up the watches of a number, whose file is gone.
  ///
  /// - Parameter exception: A watch that is kept, wanting nothing.
  private func forget(
    _ number: WatchedNumber, because reason: Loop.DescriptorSource.InvalidationReason,
    but exception: DescriptorWatch? = nil
  ) -> [RejectedSource] {
    mayHaveStaleRegistrations = true
    return number.forget(but: exception).map { RejectedSource(source: $0, reason: reason) }
  }

  /// Registers the only source of a number that is still wanted.
  private func registerAgain(_ watch: DescriptorWatch, _ source: Loop.DescriptorSource) -> [RejectedSource] {
    watch.want(source.enabled)
    let error = watch.number.update(source.descriptor).error
    return error == 0 ? [] : [RejectedSource(source: source, reason: .refused(errno: error))]
  }
}
