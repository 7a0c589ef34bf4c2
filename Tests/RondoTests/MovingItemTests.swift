import Rondo
import RondoTesting
import Testing

/// Observers, sources and descriptor sources that move to another loop, on one thread in virtual time.
@Suite struct MovingItemTests {
  // MARK: - Observers

  @Test(arguments: [0, 3])
  func `an observer that moves in its own callout is told the rest by the new loop`(_ innocents: Int) {
    withTwoStages(innocents: innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      for stage in [a, b] { stage.keepAlive() }
      let observer = Later<Loop.Observer>()
      observer.value = Loop.Observer([.entry, .exit]) { activity in
        stages.note("\(activity)")
        if a.loop.contains(observer.value) { stages.move(observer.value, from: a, to: b) }
      }
      a.own(observer.value)
      a.loop.add(observer.value)
      a.loop.run(for: .zero)
      b.loop.run(for: .zero)
      a.loop.run(for: .zero)
      #expect(stages.take() == "aentry bentry bexit")
    }
  }

  @Test(arguments: [0, 3])
  func `an observer that another one moves is not told of that moment, and the new loop tells it`(_ innocents: Int) {
    withTwoStages(innocents: innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      for stage in [a, b] { stage.keepAlive() }
      let observer = Loop.Observer([.entry, .exit]) { stages.note("\($0)") }
      a.loop.add(observer)
      a.observer(.entry, repeats: false, order: -1) { _ in stages.move(observer, from: a, to: b) }
      a.loop.run(for: .zero)
      b.loop.run(for: .zero)
      a.loop.run(for: .zero)
      #expect(stages.take() == "bentry bexit")
    }
  }

  @Test(arguments: [0, 3], [[.default], [.default, "m"], [.common]] as [[Loop.Mode]])
  func `an observer that a block moves is told what is left by the new loop`(_ innocents: Int, _ modes: [Loop.Mode]) {
    withTwoStages(innocents: innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      for stage in [a, b] { stage.keepAlive() }
      let observer = Loop.Observer([.entry, .exit]) { stages.note("\($0)") }
      for mode in modes { a.loop.add(observer, to: mode) }
      a.loop.perform { stages.move(observer, modes, from: a, to: b) }
      a.loop.run(for: .zero)
      b.loop.run(for: .zero)
      a.loop.run(for: .zero)
      b.loop.perform { stages.move(observer, modes, from: b, to: a) }
      b.loop.run(for: .zero)
      a.loop.run(for: .zero)
      b.loop.run(for: .zero)
      #expect(stages.take() == "aentry bentry bexit bentry aentry aexit")
    }
  }

  @Test func `an observer that leaves and comes back in its own callout is told once of each moment`() {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      for stage in [a, b] { stage.keepAlive() }
      let observer = Later<Loop.Observer>()
      observer.value = Loop.Observer([.entry, .exit]) { activity in
        stages.note("\(activity)")
        stages.move(observer.value, from: a, to: b)
        stages.move(observer.value, from: b, to: a)
      }
      a.own(observer.value)
      a.loop.add(observer.value)
      for _ in 0..<2 {
        a.loop.run(for: .zero)
        b.loop.run(for: .zero)
      }
      #expect(stages.take() == "aentry aexit aentry aexit")
    }
  }

  @Test func `a one-shot observer that moves in its own callout was told, and is invalid`() {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      for stage in [a, b] { stage.keepAlive() }
      let observer = Later<Loop.Observer>()
      observer.value = Loop.Observer(.entry, repeats: false) { _ in
        stages.note("once")
        stages.move(observer.value, from: a, to: b)
      }
      a.own(observer.value)
      a.loop.add(observer.value)
      for stage in [a, b, a, b] { stage.loop.run(for: .zero) }
      #expect(stages.take() == "aonce")
      #expect(!observer.value.isValid)
      #expect(!b.loop.contains(observer.value))
    }
  }

  @Test func `an observer that another thread has removed in its callout is told by the next loop`() {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      for stage in [a, b] { stage.keepAlive() }
      let observer = Later<Loop.Observer>()
      observer.value = Loop.Observer([.entry, .exit]) { activity in
        stages.note("\(activity)")
        guard a.loop.contains(observer.value) else { return }
        TestThread { a.loop.remove(observer.value) }.join()
        _ = a.loop.nextFireDate()
        b.loop.add(observer.value)
      }
      a.own(observer.value)
      a.loop.add(observer.value)
      a.loop.run(for: .zero)
      b.loop.run(for: .zero)
      #expect(stages.take() == "aentry bentry bexit")
    }
  }

  // MARK: - Sources

  /// When a source is signalled, if it moves in its own callout.
  enum Signalling: CaseIterable {
    case before, between, after, fromElsewhere, never
  }

  @Test(arguments: Signalling.allCases, [0, 3])
  func `a source that moves in its own callout is performed by the new loop once for each signal`(
    _ signalling: Signalling, _ innocents: Int
  ) {
    withTwoStages(innocents: innocents) { stages in
      let (a, b) = (stages.a, stages.b)
      for stage in [a, b] { stage.keepAlive() }
      let source = Later<Loop.Source>()
      source.value = Loop.Source {
        stages.note("s")
        guard a.loop.contains(source.value) else { return }
        if signalling == .before { source.value.signal() }
        if signalling == .fromElsewhere { TestThread { source.value.signal() }.join() }
        a.loop.remove(source.value)
        if signalling == .between { source.value.signal() }
        b.loop.add(source.value)
        if signalling == .after { source.value.signal() }
      }
      a.own(source.value)
      a.loop.add(source.value)
      source.value.signal()
      a.virtual.runUntilIdle()
      #expect(stages.take() == "as")
      b.virtual.runUntilIdle()
      #expect(stages.take() == (signalling == .never ? "" : "bs"))
      a.virtual.runUntilIdle()
      source.value.signal()
      a.virtual.runUntilIdle()
      b.virtual.runUntilIdle()
      #expect(stages.take() == "bs")
    }
  }

  /// Who moves a signalled source before it is performed.
  enum SourceMover: CaseIterable {
    case block, observer, earlierSource
  }

  @Test(
    arguments: SourceMover.allCases, [[.default], [.default, "m"], [.common]] as [[Loop.Mode]])
  func `a signalled source that is moved is performed once, by the new loop`(
    _ mover: SourceMover, _ modes: [Loop.Mode]
  ) {
    for isElsewhere in [false, true] {
      withTwoStages(innocents: 3) { stages in
        let (a, b) = (stages.a, stages.b)
        for stage in [a, b] { stage.keepAlive() }
        let source = Loop.Source { stages.note("s") }
        let move: @Sendable () -> Void = { stages.move(source, modes, from: a, to: b) }
        for mode in modes { a.loop.add(source, to: mode) }
        switch mover {
        case .block: a.loop.perform(move)
        case .observer: a.observer(.beforeTimers, repeats: false) { _ in move() }
        case .earlierSource: a.source("", order: -1, then: move).signal()
        }
        if isElsewhere { TestThread { source.signal() }.join() } else { source.signal() }
        a.virtual.runUntilIdle()
        #expect(stages.take() == "")
        b.virtual.runUntilIdle()
        a.virtual.runUntilIdle()
        #expect(stages.take() == "bs")
      }
    }
  }

  @Test func `a source that leaves and comes back in its own callout is performed once for each signal`() {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      for stage in [a, b] { stage.keepAlive() }
      let rest = Later(3)
      let source = Later<Loop.Source>()
      source.value = Loop.Source {
        stages.note("s")
        rest.value -= 1
        if rest.value > 0 { source.value.signal() }
        stages.move(source.value, from: a, to: b)
        stages.move(source.value, from: b, to: a)
      }
      a.own(source.value)
      a.loop.add(source.value)
      source.value.signal()
      b.virtual.runUntilIdle()
      a.virtual.runUntilIdle()
      b.virtual.runUntilIdle()
      #expect(stages.take() == "as as as")
    }
  }

  @Test func `a source that is told of its moves hears of each mode it joins and leaves, once`() {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      let name: @Sendable (Loop) -> String = { $0 === a.loop ? "a" : "b" }
      let source = Later<Loop.Source>()
      source.value = Loop.Source(
        schedule: { loop, mode in stages.note("+\(name(loop))\(mode == "m" ? "m" : "d")") },
        cancel: { loop, mode in stages.note("-\(name(loop))\(mode == "m" ? "m" : "d")") },
        perform: {
          stages.note("s")
          if a.loop.contains(source.value) { stages.move(source.value, [.default, "m"], from: a, to: b) }
        })
      a.own(source.value)
      for mode in [.default, "m"] as [Loop.Mode] { a.loop.add(source.value, to: mode) }
      source.value.signal()
      a.virtual.runUntilIdle()
      source.value.signal()
      b.virtual.runUntilIdle()
      source.value.invalidate()
      #expect(stages.take() == "a+ad a+am as a-ad a-am a+bd a+bm bs a-bd a-bm")
    }
  }

  // MARK: - Descriptor sources

  /// Who moves a descriptor source, and whether it is ready by then.
  enum DescriptorMover: CaseIterable {
    case itself, earlierDescriptor, timer, block, observer
  }

  @Test(arguments: DescriptorMover.allCases, Loop.DescriptorSource.Trigger.all)
  func `a descriptor source that moves is told by the loop it is in`(
    _ mover: DescriptorMover, _ trigger: Loop.DescriptorSource.Trigger
  ) {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      let source = a.descriptor("", UnconnectedSocket.shared, trigger: trigger, order: 1) { source, readiness in
        stages.note("\(readiness)")
        if mover == .itself, a.loop.contains(source) { stages.move(source, from: a, to: b) }
      }
      let move: @Sendable () -> Void = { stages.move(source, from: a, to: b) }
      switch mover {
      case .itself: break
      case .earlierDescriptor:
        let other = a.descriptor("", UnconnectedSocket.shared) { _, _ in move() }
        a.virtual.makeReady(other, .read, at: .milliseconds(1))
      case .timer: a.timer("", after: .milliseconds(1)) { _ in move() }
      case .block: a.virtual.at(.milliseconds(1)) { a.loop.perform(move) }
      case .observer: a.observer(.afterWaiting, repeats: false) { _ in move() }
      }
      a.virtual.makeReady(source, .read, at: .milliseconds(1))
      a.virtual.advance(by: .milliseconds(5))
      #expect(stages.take() == (mover == .itself || mover == .block ? "aread" : ""))
      b.virtual.makeReady(source, .read)
      b.virtual.runUntilIdle()
      a.virtual.runUntilIdle()
      #expect(stages.take() == "bread")
      #expect(source.isValid)
    }
  }

  @Test(arguments: [false, true])
  func `readiness that was carried stays behind when its source moves`(_ comesBack: Bool) {
    withTwoStages(innocents: 3) { stages in
      let (a, b) = (stages.a, stages.b)
      let first = a.descriptor("", UnconnectedSocket.shared, trigger: .edge, order: -1) { _, _ in stages.note("1") }
      let second = a.descriptor("", UnconnectedSocket.shared, trigger: .edge) { _, _ in stages.note("2") }
      for source in [first, second] { a.virtual.makeReady(source, .read) }
      a.runUntilHandled()
      #expect(stages.take() == "a1")
      stages.move(second, from: a, to: b)
      if comesBack { stages.move(second, from: b, to: a) }
      // The kernel tells the new loop, and the old one anew, of an edge that is still there; a script does not.
      for stage in [a, b] { stage.virtual.runUntilIdle() }
      #expect(stages.take() == "")

      let home = comesBack ? a : b
      stages.move(first, from: a, to: home)
      for source in [first, second] { home.virtual.makeReady(source, .read) }
      home.runUntilHandled()
      home.runUntilHandled()
      #expect(stages.take() == (comesBack ? "a1 a2" : "b1 b2"))
      for stage in [a, b] { stage.virtual.runUntilIdle() }
      #expect(stages.take() == "")
    }
  }
}

extension Loop.DescriptorSource.Trigger {
  /// Both of them.
  static let all: [Self] = [.level, .edge]
}
