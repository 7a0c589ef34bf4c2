import Rondo
import RondoTestSupport
import RondoTesting
import Testing

@Suite struct CommonModeTests {
  /// Which of the modes the item is in, the common set included.
  private func memberships(of item: Loop.Item, in stage: VirtualStage) -> String {
    let modes: [(String, Loop.Mode)] = [("C", .common), ("D", .default), ("m", "m"), ("n", "n")]
    return modes.filter { stage.loop.contains(item, in: $0.1) }.map(\.0).joined()
  }

  /// One item of each kind, all of which follow the same rules.
  private func forEachKind(_ body: (VirtualStage, Loop.Item) -> Void) throws {
    let makers: [() throws -> Loop.Item] = [
      { Loop.Timer(after: .seconds(1)) { _ in } },
      { Loop.Source {} },
      { Loop.Observer(.all) { _ in } },
      { try Loop.DescriptorSource(UnconnectedSocket.shared, for: .read) { _, _ in } },
    ]
    for make in makers {
      try withStage(isObserved: false) { stage in body(stage, try make()) }
    }
  }

  @Test func `the default mode alone is common at first`() throws {
    try forEachKind { stage, item in
      stage.keepAlive(in: .eventTracking)
      stage.loop.add(item, to: .common)
      #expect(memberships(of: item, in: stage) == "CD")
      #expect(!stage.loop.contains(item, in: .eventTracking))
    }
  }

  @Test func `common items join a mode that becomes common`() throws {
    try forEachKind { stage, item in
      stage.loop.add(item, to: .common)
      stage.loop.addCommonMode("m")
      #expect(memberships(of: item, in: stage) == "CDm")
      #expect(stage.loop.modes == [.default, "m"])
    }
  }

  @Test func `an item that left a common mode by hand does not come back when another becomes common`() throws {
    try forEachKind { stage, item in
      stage.loop.add(item, to: .common)
      stage.loop.remove(item)
      stage.loop.addCommonMode("m")
      #expect(memberships(of: item, in: stage) == "Cm")
      stage.loop.add(item, to: .common)
      #expect(memberships(of: item, in: stage) == "CDm")
    }
  }

  @Test func `leaving the common set leaves every common mode, also one joined by hand`() throws {
    try forEachKind { stage, item in
      stage.loop.add(item)
      stage.loop.add(item, to: "m")
      stage.loop.add(item, to: .common)
      stage.loop.remove(item, from: .common)
      #expect(memberships(of: item, in: stage) == "m")
    }
  }

  @Test func `removing from the common set an item that is not in it changes nothing`() throws {
    try forEachKind { stage, item in
      stage.loop.add(item)
      stage.loop.remove(item, from: .common)
      #expect(memberships(of: item, in: stage) == "D")
    }
  }

  @Test func `an item in the common set and in no mode joins the next common mode`() throws {
    try forEachKind { stage, item in
      stage.loop.add(item, to: .common)
      stage.loop.remove(item)
      #expect(memberships(of: item, in: stage) == "C")
      stage.loop.addCommonMode("n")
      #expect(memberships(of: item, in: stage) == "Cn")
    }
  }

  @Test func `invalidation leaves the common set, even for an item in no mode`() throws {
    try forEachKind { stage, item in
      stage.loop.add(item, to: .common)
      stage.loop.remove(item)
      item.invalidate()
      stage.loop.addCommonMode("m")
      #expect(memberships(of: item, in: stage) == "")
    }
  }

  @Test func `making a mode common twice changes nothing`() {
    withStage(isObserved: false) { stage in
      let source = Loop.Source(schedule: { _, mode in stage.note("\(mode)") }, perform: {})
      stage.loop.add(source, to: .common)
      stage.loop.addCommonMode("m")
      stage.loop.addCommonMode("m")
      stage.loop.addCommonMode(.default)
      #expect(stage.text == "kCFRunLoopDefaultMode m")
    }
  }

  @Test func `a mode may be common before it exists`() {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("m")
      #expect(stage.loop.modes == [.default])
      stage.keepAlive(in: "m")
      let timer = stage.timer("t", after: .milliseconds(1), in: .common)
      #expect(stage.loop.contains(timer, in: "m"))
      stage.loop.run(in: "m", for: .milliseconds(5))
      #expect(stage.text == "t")
    }
  }

  @Test func `a common item makes the modes that were made common before`() {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode("m")
      stage.timer("t", after: .milliseconds(1), in: .common)
      #expect(stage.loop.modes == [.default, "m"])
      #expect(stage.loop.run(in: "m") == .finished)
      #expect(stage.text == "t")
    }
  }

  @Test func `items join at once a running mode that becomes common`() {
    withStage(isObserved: false) { stage in
      let a = stage.source("a", in: .common)
      a.signal()
      stage.block("b", in: "m") { stage.loop.addCommonMode("m") }
      stage.loop.run(in: "m", for: .zero)
      #expect(stage.text == "b a")
    }
  }

  @Test func `a common repeating timer keeps its grid across modes`() {
    withStage(isObserved: false) { stage in
      stage.loop.addCommonMode(.eventTracking)
      stage.timer("t", every: .milliseconds(10), in: .common) { _ in stage.noteTime("") }
      stage.loop.run(for: .milliseconds(15))
      stage.loop.run(in: .eventTracking, for: .milliseconds(10))
      stage.loop.run(for: .milliseconds(10))
      #expect(stage.text == "t @10 t @20 t @30")
    }
  }

  @Test func `modes are compared by value`() {
    withStage(isObserved: false) { stage in
      let name = ["kCFRunLoop", "CommonModes"].joined()
      #expect(Loop.Mode(name) == .common)
      let timer = stage.timer("t", after: .milliseconds(1), in: Loop.Mode(name))
      #expect(stage.loop.contains(timer))
      #expect(stage.loop.modes == [.default])
    }
  }

  @Test func `a loop has room for 64 modes`() {
    withStage(isObserved: false) { stage in
      for index in 1..<64 { stage.block("\(index)", in: Loop.Mode("mode \(index)")) }
      #expect(stage.loop.modes.count == 64)
      for index in (1..<64).reversed() { stage.loop.run(in: Loop.Mode("mode \(index)")) }
      #expect(stage.trace.tokens == (1..<64).reversed().map { "\($0)" })
    }
  }

  // MARK: - Misuse

  @Test(.offThePool) func `a 65th mode is a programmer's error that says so`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Misuse.makeModes(65)
    }
    #expect(result?.complaint.contains("A loop has room for 64 modes") == true)
  }

  @Test(.offThePool) func `running the common modes is a programmer's error that says what to do`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Misuse.runCommonModes()
    }
    #expect(result?.complaint.contains("cannot be run. Run one of them.") == true)
  }

  @Test(.offThePool) func `making the common modes common is a programmer's error that says what to do`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Misuse.makeCommonModesCommon()
    }
    #expect(result?.complaint.contains("Name the mode to add.") == true)
  }
}

extension ExitTest.Result {
  /// What the process said last.
  var complaint: String {
    String(decoding: standardErrorContent, as: UTF8.self)
  }
}

/// What exit tests do, in synchronous functions because loops belong to threads.
private enum Misuse {
  static func makeModes(_ count: Int) {
    let loop = Loop.current
    // The default mode is the first.
    for index in 1..<count { loop.perform(in: Loop.Mode("mode \(index)")) {} }
  }

  static func runCommonModes() {
    Loop.current.run(in: .common)
  }

  static func makeCommonModesCommon() {
    Loop.current.addCommonMode(.common)
  }
}
