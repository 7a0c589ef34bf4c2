import CLinux
import Rondo

/// Turns with one ready descriptor: an eventfd that stays readable.
class DescriptorTurns: Operation {
  override init(_ loop: Loop) {
    super.init(loop)
    loop.add(readySource(tally))
  }

  override func perform(_ count: Int) {
    tally.last = count
    loop.run()
  }
}

/// The same, with a timer far away.
final class TimedDescriptorTurns: DescriptorTurns {
  override init(_ loop: Loop) {
    super.init(loop)
    loop.add(Loop.Timer(after: .seconds(86_400)) { _ in })
  }
}

/// Turns with a source that signals itself in its perform.
class SourceTurns: Operation {
  override init(_ loop: Loop) {
    super.init(loop)
    let signaller = Signaller(tally)
    let source = Loop.Source { [signaller] in signaller.call() }
    unsafe signaller.source = Unmanaged.passRetained(source)
    loop.add(source)
    source.signal()
  }

  override func perform(_ count: Int) {
    tally.last = count
    loop.run()
  }

  @safe private final class Signaller: @unchecked Sendable {
    @safe @exclusivity(unchecked) var source: Unmanaged<Loop.Source>?
    private let tally: Tally

    init(_ tally: Tally) {
      self.tally = tally
    }

    func call() {
      unsafe source?._withUnsafeGuaranteedRef { $0.signal() }
      tally.call()
    }
  }
}

/// One run for each look, in a mode with a timer far away and nothing ready.
final class Polls: TimedOperation {
  override func perform(_ count: Int) {
    for _ in 0..<count { loop.run(for: .zero) }
  }

  override func expectedCalls(_ count: Int) -> Int { 0 }
}

/// Ready descriptors of one turn.
final class ReadyDescriptors: Operation {
  private var sources: [Loop.DescriptorSource] = []

  override func prepare(_ count: Int) {
    while sources.count > count { sources.removeLast().invalidate() }
    while sources.count < count {
      let source = readySource(tally)
      sources.append(source)
      loop.add(source)
    }
    // libevent's buffer starts at 32 records and doubles after a wait that filled it.
    for _ in 0..<6 { loop.run(for: .zero) }
    tally.calls = 0
  }

  override func perform(_ count: Int) {
    loop.run(for: .zero)
  }
}

/// Observers told of one moment of one turn.
final class Observers: TimedOperation {
  private var observers: [Loop.Observer] = []

  override func prepare(_ count: Int) {
    while observers.count > count { observers.removeLast().invalidate() }
    while observers.count < count {
      let observer = Loop.Observer(.beforeSources) { [tally] _ in tally.call() }
      observers.append(observer)
      loop.add(observer)
    }
    loop.run(for: .zero)
    tally.calls = 0
  }

  override func perform(_ count: Int) {
    loop.run(for: .zero)
  }
}

/// Blocks posted by the loop's own thread, and run.
final class Posts: TimedOperation {
  override func perform(_ count: Int) {
    for _ in 0..<count { loop.perform { [tally] in tally.call() } }
    loop.run(for: .zero)
  }
}

/// A source for an eventfd of its own, which is ready for reading and stays so.
func readySource(_ tally: Tally) -> Loop.DescriptorSource {
  let descriptor = rondo_eventfd()
  rondo_eventfd_signal(descriptor)
  // A source for a descriptor that was just made cannot fail.
  return try! Loop.DescriptorSource(descriptor, for: .read, closesOnInvalidation: true) { [tally] _, _ in
    tally.call()
  }
}
