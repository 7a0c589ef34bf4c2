import Rondo
import RondoTesting
import Testing

/// What a callout may do to the items around it, for every kind of callout.
@Suite struct CalloutTests {
  /// A kind of callout that a test makes do something at 10 ms.
  enum Kind: String, CaseIterable, Sendable {
    case observer, block, source, timer, descriptor
  }

  /// Arranges for `action` to be called once by a callout of `kind`; the item itself is handed over, if there is one.
  private func arrange(_ kind: Kind, on stage: VirtualStage, _ action: @escaping @Sendable (Loop.Item?) -> Void) throws
  {
    let item = Later<Loop.Item>()
    let body: @Sendable () -> Void = {
      stage.note(kind.rawValue)
      action(item.value)
    }
    switch kind {
    case .observer:
      item.value = stage.observer(.afterWaiting, repeats: false) { _ in body() }
      stage.timer("tick", after: .milliseconds(10))
    case .block:
      stage.virtual.at(.milliseconds(10)) { stage.loop.perform { body() } }
    case .source:
      let source = Loop.Source { body() }
      stage.loop.add(source)
      stage.virtual.at(.milliseconds(10)) { source.signal() }
      item.value = source
    case .timer:
      let timer = Loop.Timer(after: .milliseconds(10)) { _ in body() }
      stage.loop.add(timer)
      item.value = timer
    case .descriptor:
      let source = try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in body() }
      stage.loop.add(source)
      stage.virtual.makeReady(source, .read, at: .milliseconds(10))
      item.value = source
    }
    if let item = item.value { stage.own(item) }
  }

  @Test(arguments: Kind.allCases)
  func `a callout may remove its own item`(_ kind: Kind) throws {
    try withStage(isObserved: false) { stage in
      stage.keepAlive()
      try arrange(kind, on: stage) { item in if let item { stage.loop.remove(item) } }
      #expect(stage.loop.run(for: .milliseconds(50)) == .timedOut)
      #expect(stage.trace.tokens.filter { $0 == kind.rawValue }.count == 1)
    }
  }

  @Test(arguments: Kind.allCases)
  func `a callout may invalidate its own item and go on`(_ kind: Kind) throws {
    try withStage(isObserved: false) { stage in
      stage.keepAlive()
      try arrange(kind, on: stage) { item in
        item?.invalidate()
        stage.note("done")
      }
      stage.loop.run(for: .milliseconds(50))
      #expect(stage.trace.tokens.contains("done"))
    }
  }

  @Test(arguments: Kind.allCases)
  func `a callout may remove every other ready item, and none of them is called`(_ kind: Kind) throws {
    try withStage(isObserved: false) { stage in
      stage.keepAlive()
      let others = Later<[Loop.Item]>([])
      try arrange(kind, on: stage) { _ in
        for other in others.value { stage.loop.remove(other) }
      }
      // Everything that the turn of the callout would serve after it.
      if kind != .descriptor {
        let descriptor = try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in stage.note("d") }
        stage.loop.add(descriptor)
        stage.virtual.makeReady(descriptor, .read, at: .milliseconds(10))
        others.value.append(descriptor)
      }
      if kind == .timer || kind == .observer { others.value.append(stage.timer("t", after: .milliseconds(10))) }
      let waits = kind == .descriptor || kind == .timer || kind == .observer
      if waits {
        let late = stage.source("s")
        stage.virtual.at(.milliseconds(10)) { late.signal() }
        others.value.append(late)
      }
      stage.loop.run(for: .milliseconds(50))
      let unexpected = stage.trace.tokens.filter { ["t", "s"].contains($0) || ($0 == "d" && waits) }
      #expect(unexpected == [])
    }
  }

  @Test(arguments: Kind.allCases)
  func `a callout may remove the mode's last item, and the run is finished at once`(_ kind: Kind) throws {
    try withStage(isObserved: false) { stage in
      let last = stage.keepAlive()
      try arrange(kind, on: stage) { item in
        item?.invalidate()
        stage.loop.remove(last)
      }
      #expect(stage.loop.run(for: .seconds(1)) == .finished)
      #expect(stage.milliseconds == 10)
    }
  }

  @Test(arguments: Kind.allCases)
  func `a callout may run the same mode`(_ kind: Kind) throws {
    try withStage(isObserved: false) { stage in
      stage.keepAlive()
      try arrange(kind, on: stage) { _ in
        stage.block("b")
        stage.note("\(stage.loop.run(for: .milliseconds(5)))")
      }
      #expect(stage.loop.run(for: .milliseconds(50)) == .timedOut)
      let tokens = stage.trace.tokens.filter { $0 != "tick" }
      #expect(tokens == [kind.rawValue, "b", "timedOut"])
      #expect(stage.milliseconds == 50)
    }
  }

  @Test(arguments: Kind.allCases)
  func `a callout may run another mode`(_ kind: Kind) throws {
    try withStage(isObserved: false) { stage in
      stage.keepAlive()
      try arrange(kind, on: stage) { _ in
        stage.timer("u", after: .milliseconds(5), in: "m")
        stage.note("\(stage.loop.run(in: "m"))")
      }
      #expect(stage.loop.run(for: .milliseconds(50)) == .timedOut)
      let tokens = stage.trace.tokens.filter { $0 != "tick" }
      #expect(tokens == [kind.rawValue, "u", "finished"])
      #expect(stage.milliseconds == 50)
    }
  }

  @Test(arguments: Kind.allCases)
  func `a callout may stop the run`(_ kind: Kind) throws {
    try withStage(isObserved: false) { stage in
      stage.keepAlive()
      try arrange(kind, on: stage) { _ in stage.loop.stop() }
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
      #expect(stage.milliseconds == 10)
    }
  }

  @Test(arguments: Kind.allCases)
  func `a callout of a nested run may stop the outer run as well`(_ kind: Kind) throws {
    try withStage(isObserved: false) { stage in
      stage.keepAlive()
      try arrange(kind, on: stage) { _ in stage.loop.requestStop() }
      stage.block("outer") { stage.note("\(stage.loop.run(for: .seconds(1)))") }
      #expect(stage.loop.run(for: .seconds(1)) == .stopped)
      #expect(stage.trace.tokens.contains("stopped"))
      #expect(stage.milliseconds == 10)
    }
  }

  @Test(arguments: Kind.allCases)
  func `a callout may take longer than the run has`(_ kind: Kind) throws {
    try withStage(isObserved: false) { stage in
      stage.keepAlive()
      stage.timer("late", after: .milliseconds(900))
      try arrange(kind, on: stage) { _ in stage.virtual.spend(.seconds(10)) }
      #expect(stage.loop.run(for: .seconds(1)) == .timedOut)
      #expect(stage.milliseconds == 10_010)
    }
  }
}
