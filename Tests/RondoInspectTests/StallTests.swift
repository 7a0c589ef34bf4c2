import Foundation
import Rondo
import RondoInspect
import RondoTestSupport
import Testing

/// A program that gets stuck is reported while it is, with what it is stuck in.
@Suite(.serialized, .offThePool) struct StallTests {
  /// A way to get stuck, the kind of the callout that is, and a function that has to be in the stack.
  struct Way: Sendable, CustomTestStringConvertible {
    let name: String
    let kind: String
    let function: String
    var isBlocked = true

    var testDescription: String { name }
  }

  static let ways = [
    Way(name: "sleep", kind: "timer", function: "stuckInSleep"),
    Way(name: "lock", kind: "timer", function: "stuckInLock"),
    Way(name: "compute", kind: "timer", function: "stuckInComputation", isBlocked: false),
    Way(name: "nested", kind: "block", function: "stuckInSleep"),
    Way(name: "main-actor", kind: "main queue", function: "stuckOnTheMainActor"),
    Way(name: "main-queue", kind: "main queue", function: "stuckInSleep"),
    Way(name: "source", kind: "source", function: "stuckInSleep"),
    Way(name: "descriptor", kind: "descriptor", function: "stuckInSleep"),
    Way(name: "block", kind: "block", function: "stuckInSleep"),
    Way(name: "timeout", kind: "timeout", function: "stuckInSleep"),
    Way(name: "observer", kind: "observer", function: "stuckInSleep"),
    // After a rest, in which the watcher has gone to sleep, it wakes more often than an alarm is worth.
    Way(name: "busy", kind: "descriptor", function: "stuckInSleep"),
  ]

  /// What the program reports. A machine that stalls may let no thread be sampled in time: then the stack is empty.
  private func reports(of way: String) throws -> [[String: Any]] {
    for _ in 0..<20 {
      let end = try Programs.run("rondo-stuck", way)
      #expect(end.status == 0)
      if let report = end.objects.first, !functions(in: report).isEmpty { return end.objects }
    }
    return []
  }

  @Test(arguments: ways) func `what blocks a loop is named while it does`(_ way: Way) throws {
    let reports = try reports(of: way.name)
    try #require(reports.count == 2)
    let callout = try #require((reports[0]["callouts"] as? [[String: Any]])?.last)
    #expect(callout["kind"] as? String == way.kind)
    let functions = functions(in: reports[0])
    #expect(functions.contains { $0.contains(way.function) }, "\(functions)")
    let activity = try #require(reports[0]["activity"] as? String)
    // A sleep of 20 ms may have been over at that moment.
    #expect(activity.hasPrefix("blocked in ") || activity == "running")
    if !way.isBlocked { #expect(activity == "running") }
    // Never early.
    #expect(try #require(reports[0]["nanoseconds"] as? Int) >= 100_000_000)
    #expect(reports[0]["isOver"] as? Bool == false)
    #expect(reports[1]["isOver"] as? Bool == true)
    #expect(try #require(reports[1]["nanoseconds"] as? Int) >= 100_000_000)
  }

  @Test func `an item is called by its file and line, or by its name`() throws {
    let sleep = try #require(try Programs.run("rondo-stuck", "sleep").objects.first)
    let name = try #require((sleep["callouts"] as? [[String: Any]])?.last?["name"] as? String)
    #expect(name.hasPrefix("rondo_stuck/main.swift:"))
    let source = try #require(try Programs.run("rondo-stuck", "source").objects.first)
    #expect((source["callouts"] as? [[String: Any]])?.last?["name"] as? String == "the source")
  }

  @Test func `a block is called by its code`() throws {
    let report = try #require(try Programs.run("rondo-stuck", "block").objects.first)
    let name = try #require((report["callouts"] as? [[String: Any]])?.last?["name"] as? String)
    #expect(name.contains("closure #"), "\(name)")
  }

  @Test func `a nested run's callout is told with the one around it`() throws {
    let report = try #require(try Programs.run("rondo-stuck", "nested").objects.first)
    let callouts = try #require(report["callouts"] as? [[String: Any]])
    #expect(callouts.map { $0["kind"] as? String } == ["timer", "block"])
    #expect(report["depth"] as? Int == 2)
  }

  @Test func `a library without frame pointers is reported as far as it goes`() throws {
    let report = try #require(try reports(of: "c-library").first)
    #expect((report["callouts"] as? [[String: Any]])?.last?["kind"] as? String == "timer")
    #expect(report["activity"] as? String == "running")
    let functions = functions(in: report)
    #expect(functions.contains { $0.contains("spin") || $0.contains("stuck_compute") }, "\(functions)")
    #expect(functions.contains { $0.contains("stuckInC") || $0.contains("callOutTimer") }, "\(functions)")
  }

  private func functions(in report: [String: Any]) -> [String] {
    (report["stack"] as? [[String: Any]] ?? []).compactMap { $0["function"] as? String }
  }
}
