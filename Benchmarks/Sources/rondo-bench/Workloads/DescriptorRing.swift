import CBench

/// libevent's own benchmark: sockets in a ring, some of them active, every reader writes to the next.
///
/// A run is as many events as there are pairs; the runs of a round are timed together. Set-up is timed apart, as
/// watching one descriptor.
struct DescriptorRing: Workload {
  private let pairs: Int
  private let active: Int

  init(_ pairs: Int, _ active: Int) {
    (self.pairs, self.active) = (pairs, active)
  }

  var name: String { "fd.ring.\(pairs).\(active)" }
  var summary: String { "\(pairs) sockets in a ring, \(active) of them active: an event" }
  var parts: [String] { ["event", "setup"] }
  var obstacle: String? { SocketPairs.obstacle(pairs) }

  func plan(_ effort: Effort) -> Plan {
    switch effort {
    case .quick: Plan(rounds: 10, size: max(1, 1000 / pairs))
    case .full: Plan(rounds: 25, size: max(5, 100_000 / pairs))
    }
  }

  func round(of subject: any Subject, size: Int) throws(Refusal) -> Round {
    let (pairs, active) = (pairs, active)
    let sockets = try SocketPairs.shared(pairs)
    return try LoopThread.run(subject) { handle throws(Refusal) in
      let loop = handle.loop
      try loop.checkWatchLimit(pairs)
      let ring = Meter(bench_ring())
      ring.pointer.pointee.pairs = pairs
      ring.pointer.pointee.descriptors = sockets.descriptors
      ring.pointer.pointee.stopper = handle.stopper
      let ends = UnsafeMutablePointer<bench_ring_end>.allocate(capacity: pairs)
      defer { ends.deallocate() }
      for index in 0..<pairs { (ends + index).initialize(to: bench_ring_end(ring: ring.pointer, index: index)) }
      var watches: [any Member] = []
      watches.reserveCapacity(pairs)
      defer {
        for watch in watches { watch.remove() }
        drain(sockets, pairs)
      }
      let opening = bench_now()
      for index in 0..<pairs {
        watches.append(
          try loop.addWatch(sockets.watched(index), Call(callout: bench_ring_called, context: ends + index)))
      }
      // Some loops tell the kernel only now.
      loop.poll()
      let opened = bench_now()
      // The first run meets cold caches and buffers that still grow.
      _ = try circulate(loop, ring, active)
      var elapsed: Int64 = 0
      for _ in 0..<size { elapsed += try circulate(loop, ring, active) }
      return Round([
        Part(name: "event", value: Double(elapsed) / Double(size * pairs)),
        Part(name: "setup", value: Double(opened - opening) / Double(pairs)),
      ])
    }
  }
}

/// One run; how long it took.
private func circulate(_ loop: any BenchLoop, _ ring: Meter<bench_ring>, _ active: Int) throws(Refusal) -> Int64 {
  let events = ring.value.pairs
  let begin = bench_now()
  guard bench_ring_begin(ring.pointer, active, events) else { throw .failed("could not write to a socket") }
  loop.run()
  let elapsed = bench_now() - begin
  guard ring.value.calls == events, ring.value.writes == 0, ring.value.faults == 0 else {
    throw .failed("\(ring.value.calls) events of \(events), \(ring.value.faults) callouts with nothing to read")
  }
  return elapsed
}

/// What a run that failed left in the sockets must not reach the next subject.
private func drain(_ sockets: SocketPairs, _ pairs: Int) {
  var bytes = [UInt8](repeating: 0, count: 64)
  for index in 0..<pairs {
    while bench_read(sockets.watched(index), &bytes, bytes.count) > 0 {}
  }
}
