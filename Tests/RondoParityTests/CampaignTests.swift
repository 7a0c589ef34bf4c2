internal import RondoParity
internal import Testing

@Suite(.serialized) struct CampaignTests {
  /// The same 2,000 scenarios on every machine.
  @Test func noDifferences() {
    let report = Campaign(seed: 20_261_121, count: 2_000).run()
    for difference in report.differences { Issue.record("\(difference)") }
  }
}
