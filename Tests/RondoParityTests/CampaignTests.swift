internal import RondoTestSupport
internal import Testing
internal import rondo_parity

@Suite(.offThePool) struct CampaignTests {
  /// The same scenarios on every machine, every flavour among them.
  ///
  /// A slow machine cannot fail it: where a wait or a callout was late, the scenario is repeated, in the end given up.
  @Test func noDifferences() {
    let report = Campaign(seed: 20_261_121, count: 1_000).run()
    for difference in report.differences { Issue.record("\(difference)") }
    // In most of them no time passes, so that on every machine they say something.
    #expect(report.compared > 660)
  }
}
