internal import RondoTestSupport
internal import Testing
internal import rondo_parity

/// The behaviour table, row by row, on the real CFRunLoop and on Rondo.
@Suite(.serialized, .offThePool) struct TableTests {
  @Test(arguments: Table.compared) func compared(_ row: Row) {
    for subject in Subject.allCases {
      let complaint = row.verdict(on: subject, run: Execution.run)
      #expect(complaint == nil)
    }
  }

  /// Rows on which Rondo decided otherwise show each loop's own behaviour.
  @Test(arguments: Table.excluded) func decided(_ row: Row) {
    for subject in Subject.allCases {
      let complaint = row.verdict(on: subject, run: Execution.run)
      #expect(complaint == nil)
    }
  }

  /// Each on the main thread of a process of its own.
  @Test(arguments: Table.mainThread) func onTheMainThread(_ row: Row) throws {
    let tool = try #require(Tool.path, "rondo-parity is built beside the tests")
    for subject in Subject.allCases {
      let complaint = row.verdict(on: subject) { _, subject in
        MainThreadRows.run(row: row.id, on: subject, executable: tool)
      }
      #expect(complaint == nil)
    }
  }

  /// No id of the reference is forgotten.
  @Test func everyIdIsARowOrAnExclusion() {
    let rows = Set(Table.all.map { String($0.id.prefix { $0 != " " }) })
    let excluded = Set(Table.exclusions.map(\.id))
    let missing = Table.ids.filter { !rows.contains($0) && !excluded.contains($0) }
    // K02 is E21 under another name.
    #expect(missing == ["K02"])
  }
}
