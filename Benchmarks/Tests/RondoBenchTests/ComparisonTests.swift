import Testing

@testable import rondo_bench

@Suite struct ComparisonTests {
  private let old = Report.sample([
    ("a", "rondo", "p50", 100), ("a", "rondo", "p90", 200), ("b", "rondo", "median", 0), ("c", "rondo", "p50", 1),
    ("a", "libuv", "p50", 50),
  ])
  private let new = Report.sample([
    ("a", "rondo", "p50", 111), ("a", "rondo", "p90", 100), ("b", "rondo", "median", 0), ("a", "libuv", "p50", 50),
  ])

  @Test func `Headlines are compared unless a metric is named`() {
    let comparison = Comparison(old, new, metrics: [], subjects: ["rondo"])
    #expect(comparison.rows.map(\.metric) == ["p50", "median"])
    #expect(comparison.rows.map(\.ratio) == [1.11, 1])
    #expect(Comparison(old, new, metrics: ["p90"], subjects: []).rows.map(\.ratio) == [0.5])
  }

  @Test func `A figure is worse beyond the threshold, not at it`() {
    let comparison = Comparison(old, new, metrics: [], subjects: ["rondo"])
    #expect(comparison.worse(byMoreThan: 10).map(\.workload) == ["a"])
    #expect(comparison.worse(byMoreThan: 11.1).isEmpty)
  }

  @Test func `A figure that is gone is told`() {
    let comparison = Comparison(old, new, metrics: [], subjects: ["rondo"])
    #expect(comparison.lost.map(\.workload) == ["c"])
  }

  @Test func `Something out of nothing is infinitely worse`() {
    let row = Comparison.Row(workload: "w", subject: "s", metric: "m", unit: "", old: 0, new: 1)
    #expect(row.ratio == .infinity)
  }
}
