import Foundation
import Testing

/// The rooms of Sources/Rondo: what a file of each may name, how long it may be, and the walks through them.
///
/// The lists of exceptions can only shrink: a test fails if an entry is no longer needed. A failure prints the pairs to
/// remove from the list, or the pairs that break the rule.
@Suite struct RoomTests {
  /// The folders, from the bottom up.
  private static let rooms = [
    "Base", "Kernel", "Mail", "Registry", "Timers", "Turn", "API", "Guests", "Inspection", "Simulation", "Async",
  ]
  private static let core = rooms.prefix { $0 != "API" }
  private static let rondo = files(in: "Rondo")

  @Test func `every file is in a room`() {
    #expect(Self.rondo.map(\.path).filter { !Self.rooms.contains(Self.room(of: $0)) } == [])
    #expect(Set(Self.rondo.map { Self.room(of: $0.path) }) == Set(Self.rooms))
  }

  // MARK: - Types

  // `Loop` is a namespace: `Loop.Mode` is a use of `Loop.Mode` alone, which counts by its own file; `extension Loop` is
  // no use. `LoopCore` is declared in Turn, and has no such exemption: a room below Turn cannot extend it.

  @Test func `a file names only types of its own room or a lower one`() {
    let homes = Self.homes(in: Self.rondo)
    var found: Set<String> = []
    for file in Self.rondo {
      let rank = Self.rank(of: file.path)
      for name in file.names(among: homes) where Self.rank(of: homes[name]!) > rank {
        found.insert("\(file.path) \(name)")
      }
    }
    expect(found, Self.upwardUses)
  }

  /// By file: the types of higher rooms that the file names.
  private static let upwardUses: [String: String] = [
    "API/Loop.swift": "JobLanes",
    "Kernel/RejectedSource.swift": "Loop.DescriptorSource Loop.DescriptorSource.InvalidationReason",
    "Kernel/KernelWait.swift": "Loop.DescriptorSource Wakeup",
    "Kernel/Libevent.swift": "Loop.DescriptorSource Loop.DescriptorSource.Readiness Loop.DescriptorSource.Trigger",
    "Kernel/WaitSet+Watches.swift": """
    FileIdentity Loop.DescriptorSource Loop.DescriptorSource.InvalidationReason Loop.DescriptorSource.Readiness
    """,
    "Mail/ChangeList.swift": "Loop.DescriptorSource Loop.Item Loop.Source Loop.Timer",
    "Mail/Mailbox.swift": "ModeState QueuedJob",
    "Mail/SignalStack.swift": "Loop.Source",
    "Registry/ModeState.swift": "RunFrame",
    "Registry/ObserverList.swift": "Loop.Observer",
    "Registry/Resident.swift": "Loop.Item",
    "Registry/SlotTable.swift": "Loop.Item",
    "Timers/TimerRow.swift": "Loop.Timer",
    "Timers/TimerStore.swift": "Loop.Timer",
    "Inspection/LoopDelegate.swift": "QueuedJob",
    "Turn/CallingOut.swift": """
    Loop.DescriptorSource Loop.DescriptorSource.Readiness Loop.Observer Loop.Source Loop.Timer Loop.Timer.Tick \
    QueuedJob
    """,
    "Turn/LoopCore+Descriptors.swift": "Loop.DescriptorSource Loop.DescriptorSource.Readiness",
    "Turn/LoopCore+Mail.swift": "Loop.Item Loop.Item.Note Loop.Source",
    "Turn/LoopCore+Phases.swift": "Loop.Observer Loop.Source",
    "Turn/LoopCore+Residents.swift": "Loop Loop.DescriptorSource Loop.Item Loop.Observer Loop.Source Loop.Timer",
    "Turn/LoopCore+Sleep.swift": "Guest",
    "Turn/LoopCore+Watches.swift": "Loop.DescriptorSource",
    "Turn/LoopCore+Fire.swift": "Loop.Timer Loop.Timer.Tick",
    "Turn/LoopCore+Timers.swift": "Loop.Item Loop.Timeout Loop.Timer",
    "Turn/Wait.swift": "Loop.DescriptorSource ScriptedWait",
    "Turn/LoopCore.swift": """
    DelegateBox DetachedJobQueue ForeignBox Guest JobRelay JobService Loop Loop.Item Loop.Source
    """,
  ]

  @Test func `a type of the core is for no single product`() {
    let visible = Self.homes(in: Self.rondo.filter { Self.isCore($0.path) }, visibleOnly: true)
    var users: [String: Set<String>] = [:]
    for target in Self.targets {
      let files = Self.files(in: target)
      let own = Self.homes(in: files)
      let known = visible.merging(own) { _, own in own }
      let named = files.reduce(into: Set<String>()) { $0.formUnion($1.names(among: known)) }
      for name in named where visible[name] != nil && own[name] == nil { users[name, default: []].insert(target) }
    }
    expect(Set(users.filter { $0.value.count == 1 }.map { "\($0.key) \($0.value.first!)" }), Self.uniqueUses)
  }

  /// By type of the core: the only target that names the type, apart from Rondo.
  private static let uniqueUses: [String: String] = [
    "CalloutBarrier": "RondoGuests",
    "ClosedBehindTheLoop": "RondoGuests",
    "EventBase": "RondoGuests",
    "OwnDescriptors": "RondoGuests",
    "ProcessGeneration.Word": "RondoC",
    "WaitFailure": "RondoGuests",
  ]

  @Test func `what a process has once is new in a forked child`() {
    let all = (["Rondo", "Adapters"] + Self.targets).flatMap(Self.files(in:))
    #expect(all.count > 200)
    // Its lock could be held in the child for ever by a thread that the child does not have.
    expect(Set(all.filter { $0.hasStaticConstant(of: "Guarded") }.map(\.path)), [:])
  }

  // MARK: - The sleep

  @Test func `no function of the sleep calls out`() throws {
    let callsOut = Set(Self.rondo.flatMap(\.functions).filter(\.callsOut).map(\.name))
    #expect(callsOut.count > 40)
    var found: Set<String> = []
    for (path, names) in Self.sleep {
      let file = try #require(Self.rondo.first { $0.path == path }, "\(path) is missing")
      for name in names.split(separator: " ") {
        let functions = file.functions.filter { $0.name.hasPrefix("\(name)(") }
        #expect(!functions.isEmpty, "\(path) has no \(name)")
        let calls = functions.flatMap { file.calls(in: $0.body) }
        for call in calls where callsOut.contains(call) { found.insert("\(name) \(call)") }
      }
    }
    // After the announcement, and before it is taken back.
    let sleep = try #require(Self.rondo.first { $0.path == "Turn/LoopCore+Sleep.swift" })
    let parts = [
      try #require(sleep.part(of: "prepareSleep", from: "announceSleep", to: "return")),
      try #require(sleep.part(of: "finishSleep", from: "{", to: "endSleep")),
    ]
    for part in parts { found.formUnion(sleep.calls(in: part).filter(callsOut.contains).map { "sleep \($0)" }) }
    expect(found, Self.callsInSleep)
  }

  /// By function of the sleep: the calls that have the name of a callout. `end()` is `WaitFailure.end()`, and ends the
  /// process.
  private static let callsInSleep = ["arm": "end()", "open": "end()", "wait": "end()"]

  /// The functions that run between `prepareSleep` and `finishSleep`, by file.
  private static let sleep = [
    "Kernel/KernelWait.swift": "choose arm wait select selectAnew waitSet openWaitSet open",
    "Kernel/Libevent.swift": "sleepInKernel poll",
    "Turn/Wait.swift": "choose arm wait",
    "Mail/Wakeup.swift": "prepareToSleep sleeps wokeTaking update",
    "Guests/LoopCore+Guest.swift": "goToHost comeBack collect",
    "Turn/LoopCore+Sleep.swift": "announceSleep announce endSleep countSleep collect",
    "Turn/LoopCore+Watches.swift": "mergeRepeated",
  ]

  // MARK: - Sizes

  @Test func `a file has at most 300 lines, and the core does not grow`() {
    let long = Self.rondo.filter { $0.lineCount > 300 }
    #expect(Set(long.map(\.path)) == Set(Self.longFiles.keys))
    for file in long { #expect(file.lineCount <= Self.longFiles[file.path] ?? 300, "\(file.path)") }
    let total = Self.rondo.filter { Self.isCore($0.path) }.reduce(0) { $0 + $1.lineCount }
    #expect(total <= Self.mostLinesOfTheCore)
  }

  private static let longFiles: [String: Int] = [:]
  private static let mostLinesOfTheCore = 6_694

  // MARK: - Walks

  @Test func `each walk through the source has at most seven files, and they declare its functions`() throws {
    let walks = try Self.text(".github/ReadingTheSource.md").components(separatedBy: "| file | function |")
    #expect(walks.count == 6)
    var long: [String: Int] = [:]
    for (before, walk) in zip(walks, walks.dropFirst()) {
      let title = before.components(separatedBy: "**").dropLast().last ?? ""
      let steps = walk.components(separatedBy: "\n").dropFirst().prefix { $0.hasPrefix("|") }
        .map { $0.components(separatedBy: "`") }.filter { $0.count > 4 }
      for step in steps { #expect(try Self.declares(step[1], step[3]), "\(step[1]) lacks \(step[3])") }
      let count = Set(steps.map { $0[1] }).count
      #expect(count > 1, "\(title)")
      if count > 7 { long[title] = count }
    }
    #expect(long == Self.longWalks)
  }

  /// The number of files of each walk that has more than seven.
  private static let longWalks: [String: Int] = [
    "A block from another thread": 12, "A job of an actor": 12, "A signal from another thread": 13,
    "A timer's date": 11, "Readiness of a descriptor": 9,
  ]

  /// Whether a file has a function of that name. Paths are below Sources/Rondo, or below Sources for a shim in C.
  private static func declares(_ path: String, _ name: String) throws -> Bool {
    if let file = rondo.first(where: { $0.path == path }) {
      return file.functions.contains { $0.name.hasPrefix("\(name)(") }
    }
    return try path.hasSuffix(".h") && text("Sources/\(path)").contains(" \(name)(")
  }

  // MARK: - The repository

  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The Swift files of a folder of Sources, by their paths in it.
  private static func files(in folder: String) -> [SwiftFile] {
    let paths = FileManager.default.enumerator(atPath: root.appending(path: "Sources/\(folder)").path)
    return (paths?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".swift") }.sorted().map { path in
      SwiftFile(path: path, text: (try? text("Sources/\(folder)/\(path)")) ?? "")
    }
  }

  /// The folders of the other targets. Examples and tools are no products.
  private static var targets: [String] {
    func folders(_ path: String) -> [String] {
      (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: path).path)) ?? []
    }
    return folders("Sources").filter { !["Rondo", "Adapters", "Examples", "Tools"].contains($0) }
      + folders("Sources/Adapters").map { "Adapters/\($0)" }
  }

  private static func room(of path: String) -> String { String(path.prefix { $0 != "/" }) }
  private static func isCore(_ path: String) -> Bool { core.contains(room(of: path)) }
  private static func rank(of path: String) -> Int { rooms.firstIndex(of: room(of: path)) ?? rooms.count }

  /// The files in which types are declared; of a type with two homes, the lower one.
  private static func homes(in files: [SwiftFile], visibleOnly: Bool = false) -> [String: String] {
    var homes: [String: String] = [:]
    for file in files {
      for (name, isVisible) in file.types where isVisible || !visibleOnly {
        if let home = homes[name], rank(of: home) <= rank(of: file.path) { continue }
        homes[name] = file.path
      }
    }
    return homes
  }

  /// Compares pairs of words with a list of exceptions.
  private func expect(_ found: Set<String>, _ exceptions: [String: String]) {
    let known = Set(exceptions.flatMap { key, words in words.split(separator: " ").map { "\(key) \($0)" } })
    #expect(found.subtracting(known).sorted() == [])
    #expect(known.subtracting(found).sorted() == [])
  }
}
