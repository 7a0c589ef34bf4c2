import Glibc
import Rondo
import Synchronization

/// What has to be true when nobody does anything.
extension Round {
  /// Has every item called where it is, and finds that those that are nowhere are free.
  func audit() {
    quieten()
    for specimen in specimens {
      ledger.probes.add()
      if specimen.item.isValid { probe(specimen) } else { bury(specimen) }
    }
    for specimen in specimens where specimen.kind == .source { checkMemberships(of: specimen) }
  }

  private func bury(_ specimen: Specimen) {
    if let source = specimen.item as? Loop.DescriptorSource, let reason = source.invalidationReason,
      specimen.channel?.isWhole == true
    {
      ledger.fail("a descriptor source was given up because of \(reason), and its descriptor is as it was")
    }
    // Its loop may be coming to its end at this moment, and free it a moment after it is invalid.
    if specimen.kind != .source, !eventually({ !specimen.item.isInLoop }) {
      ledger.fail("a \(specimen.kind) has ended and has a loop")
    }
    specimen.record.isBuried.store(true, ordering: .sequentiallyConsistent)
  }

  /// The loop and a mode the item is in; no mode if it stands in the common set alone.
  private func home(of item: Loop.Item) -> (berth: Berth, mode: Loop.Mode?)? {
    for berth in crew.berths {
      for mode in berth.loop.modes where berth.loop.contains(item, in: mode) { return (berth, mode) }
    }
    return crew.berths.first { $0.loop.contains(item, in: .common) }.map { ($0, nil) }
  }

  private func probe(_ specimen: Specimen) {
    // A loop that was let go of may not have come to its end yet, and its items with it.
    let isFound = eventually {
      if !specimen.item.isValid || home(of: specimen.item) != nil { return true }
      return crew.berths[0].loop.add(specimen.item)
    }
    guard specimen.item.isValid else { return bury(specimen) }
    guard isFound, let home = home(of: specimen.item) else {
      // A one-shot timer may have fired at this moment.
      guard specimen.item.isValid else { return bury(specimen) }
      return ledger.fail("a \(specimen.kind) is in no loop, and no loop can have it, seed \(seed)")
    }
    guard specimen.isUsable, let mode = home.mode else { return }
    let before = specimen.record.calls.value
    specimen.channel?.keepsBytes.store(true, ordering: .sequentiallyConsistent)
    defer { specimen.channel?.keepsBytes.store(false, ordering: .sequentiallyConsistent) }
    let isCalled = eventually {
      // Other callouts may have served it meanwhile, or ended it.
      if specimen.record.calls.value > before || !specimen.item.isValid { return true }
      call(specimen)
      look(home.berth, mode)
      return specimen.record.calls.value > before
    }
    if !isCalled {
      ledger.fail("a \(specimen.kind) in \(mode) is not called any more, seed \(seed)\(state(of: specimen))")
    }
    guard specimen.kind == .source else { return }
    let hasSeenAll = eventually {
      if specimen.record.hasSeenAllSignals || !specimen.item.isValid { return true }
      look(home.berth, mode)
      return specimen.record.hasSeenAllSignals
    }
    if !hasSeenAll { ledger.fail("a source in \(mode) has not seen its last signal, seed \(seed)") }
  }

  /// What is known of a specimen that is not called: its descriptor, its bytes, and the epoll sets that watch it.
  private func state(of specimen: Specimen) -> String {
    guard let channel = specimen.channel, let source = specimen.item as? Loop.DescriptorSource else { return "" }
    var waiting: CInt = 0
    _ = unsafe ioctl(channel.near, UInt(FIONREAD), &waiting)
    let sharers = specimens.filter { $0.channel === channel }.map { other in
      let homes = crew.berths.enumerated().map { number, berth in
        "\(number): \(berth.loop.modes.filter { berth.loop.contains(other.item, in: $0) }.map(\.rawValue))"
      }
      return "\(other.item) enabled \((other.item as? Loop.DescriptorSource)?.enabled.rawValue ?? 0) in \(homes)"
    }
    let sets = descriptorNames().filter { $0.value.contains("eventpoll") }.map { entry in
      let file = unsafe open("/proc/self/fdinfo/\(entry.key)", O_RDONLY)
      defer { close(file) }
      var bytes = [UInt8](repeating: 0, count: 8_192)
      let count = unsafe read(file, &bytes, bytes.count)
      let lines = String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: "\n")
      return
        "\(entry.key): \(lines.filter { $0.hasPrefix("tfd:") }.map { $0.split(separator: " ").prefix(4).joined(separator: " ") })"
    }
    return """
      ; descriptor \(channel.near) is \(descriptorNames()[channel.near] ?? "closed"), \(waiting) bytes wait, edge \
      \(channel.isEdge), reason \(source.invalidationReason.map { "\($0)" } ?? "-"); sharers \(sharers); sets \(sets); \
      loops \(crew.berths.map { "\($0.thread.loop.heartbeat)" })
      """
  }

  /// Has it due, signalled or ready.
  private func call(_ specimen: Specimen) {
    if let timer = specimen.item as? Loop.Timer {
      timer.setFireDate(after: .zero)
    } else if let source = specimen.item as? Loop.Source {
      specimen.record.sent.add()
      source.signal()
    } else if let source = specimen.item as? Loop.DescriptorSource {
      source.enable(.read)
      specimen.channel?.write()
    }
  }

  /// Has the loop run the mode once, with something in it.
  private func look(_ berth: Berth, _ mode: Loop.Mode) {
    let latch = Latch()
    let loop = berth.loop
    loop.perform { [fuse = Fuse(latch)] in
      loop.perform(in: mode) {}
      for _ in 0..<3 { loop.run(in: mode, for: .zero) }
      withExtendedLifetime(fuse) {}
    }
    latch.wait()
  }

  /// What a source was told of its modes agrees with the modes it is in.
  private func checkMemberships(of specimen: Specimen) {
    guard specimen.item.isValid else { return }
    let agrees = eventually {
      let modes = crew.berths.reduce(0) { sum, berth in
        sum + berth.loop.modes.count { berth.loop.contains(specimen.item, in: $0) }
      }
      return modes == specimen.record.memberships.value
    }
    guard !agrees else { return }
    let homes = crew.berths.enumerated().map { number, berth in
      let modes = berth.loop.modes.filter { berth.loop.contains(specimen.item, in: $0) }
      return "\(number): \(modes.map(\.rawValue)), common \(berth.loop.contains(specimen.item, in: .common))"
    }
    ledger.fail(
      "a source was told of \(specimen.record.memberships.value) modes more than it left, and is in \(homes), "
        + "seed \(seed)")
  }

  // MARK: - The end

  /// Ends the loops, lets go of everything, and finds nothing left.
  func finish() {
    quieten()
    // Some are invalid before their loop ends, some after it, some by it.
    for (number, specimen) in specimens.enumerated() where number % 3 == 0 { specimen.item.invalidate() }
    let berths = crew.berths
    for (number, berth) in berths.enumerated() where number % 2 == 0 { berth.thread.stop(.drain) }
    emptyPool()
    for (number, berth) in berths.enumerated() where number % 2 == 1 { berth.thread.stop(.drain) }
    check("tasks", 0) { ledger.tasks.living }
    check("blocks", 0) { ledger.posts.living }
    check("closures of items", 0) { ledger.items.living }
    check("items", 0) { livingItems }
  }

  private func check(_ name: String, _ expected: Int, _ count: () -> Int) {
    if !eventually({ count() == expected }) {
      ledger.fail("\(count()) \(name) are left over instead of \(expected), seed \(seed)")
    }
  }
}
