/// A row that is not compared: which decision took it out and which test pins what Rondo does.
package struct Exclusion: Sendable {
  package var id: String
  package var decision: String
  package var pinnedBy: String
}

extension Table {
  /// The rows no scenario can carry to both loops, and those that are rows of `Table.excluded`.
  package static let exclusions: [Exclusion] =
    excluded.filter { $0.decision != nil }.map {
      Exclusion(id: $0.id, decision: $0.decision!, pinnedBy: "TableTests.decided(\($0.id))")
    } + [
      Exclusion(
        id: "A03", decision: "modes: a missing mode has no spelling", pinnedBy: "ExcludedTests.commonModeCannotRun"),
      Exclusion(id: "E20", decision: "Q13", pinnedBy: "ExcludedTests.equalSourcesAreTwo"),
      Exclusion(id: "E24", decision: "Q16", pinnedBy: "ExcludedTests.scheduleRunsUnlocked"),
      Exclusion(id: "F02", decision: "Q10", pinnedBy: "ExcludedDescriptorTests.pipeKeepsItsBytes"),
      Exclusion(id: "F02b", decision: "Q10", pinnedBy: "ExcludedDescriptorTests.pipeKeepsItsBytes"),
      Exclusion(id: "F02c", decision: "Q10", pinnedBy: "ExcludedDescriptorTests.unreadPipeIsToldAgain"),
      Exclusion(
        id: "F05", decision: "signal has no spelling there", pinnedBy: "ExcludedDescriptorTests.unreadPipeIsToldAgain"),
      Exclusion(id: "F07", decision: "Q10", pinnedBy: "ExcludedDescriptorTests.twoSourcesOnOneDescriptor"),
      Exclusion(id: "F09", decision: "Q10", pinnedBy: "ExcludedDescriptorTests.closedPipeIsTold"),
      Exclusion(id: "G09", decision: "Q9", pinnedBy: "ExcludedTests.timerReadsBack"),
      Exclusion(id: "G30", decision: "Q17", pinnedBy: "ExcludedTests.nanosecondInterval"),
      Exclusion(id: "G31", decision: "Q17: Duration has no NaN", pinnedBy: "ExcludedTests.nanosecondInterval"),
      Exclusion(id: "H15", decision: "Q15", pinnedBy: "ExcludedTests.modesCompareByValue"),
      Exclusion(id: "H16", decision: "Q15", pinnedBy: "ExcludedTests.commonModeCannotBeCommon"),
      Exclusion(id: "K03", decision: "Q23", pinnedBy: "ExcludedTests.descriptorsComeBack"),
      Exclusion(id: "K04", decision: "Q20", pinnedBy: "RondoTests: fork tests"),
      Exclusion(id: "K05", decision: "Q20", pinnedBy: "RondoTests: fork tests"),
    ]

  /// Every id of the reference's sections A to K.
  package static let ids: [String] = """
    A01 A02 A03 A04 A05 A06 A07 A08 A09 A10 A11 A12 A12b A13 A14 A14b A15 A16 A17 A18 A19 A19b A20 A21 A22
    A23 A24 A24b A25 A28 A29 A30 A31 A32 A33
    B01 B02 B03 B04 B04b B05 B06 B07 B07b B08 B09 B09b B10 B11 B13 B14 B15 B16 B17 B18 B19 B20 B21 B22 B23
    B24 B25
    C01 C01b C02 C03 C04 C04b C05 C06 C07 C08 C09 C09b C10 C11 C12 C13 C14 C15
    D01 D02 D03 D04 D05 D06 D07 D09 D11 D12 D13
    E01 E02 E03 E09 E10 E10b E11 E12 E13 E14 E15 E16 E17 E18 E19 E20 E21 E22 E23 E24
    F01 F02 F02b F02c F03 F03b F03c F04 F05 F06 F07 F08 F09
    G01 G02 G03 G03b G03c G04 G05 G06 G06b G06c G06d G09 G13 G16 G17 G18 G23 G24 G25 G26 G27 G28 G30 G31 G32
    G33 G34 G35
    H01 H03 H04 H05 H06 H11 H11b H12 H13 H14 H15 H16
    I01 I01b I03 I03b I03c I03d I04 I07 I08 I09 I10
    J01 J02 J02b J02c J03 J03b J04 J05 J06 J06b J07 J08 J10 J11 J12 J13 J14 J15
    K01 K02 K03 K04 K05
    """.split(whereSeparator: \.isWhitespace).map(String.init)
}
