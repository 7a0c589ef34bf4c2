import RondoTestSupport
import Testing

/// A rule of the API that is broken is told, in a release build as well.
@Suite(.serialized, .offThePool) struct ContractTests {
  @Test(arguments: [
    ("interval", "A repeating timer needs an interval of at least 1 ns"),
    ("thread", "and only that thread can run it. Use Loop.current, or post with perform { }."),
    ("timeout", "A timeout belongs on the thread of its loop."),
  ])
  func `what was done wrong is said before the program ends`(_ rule: String, _ message: String) {
    let result = Probe.end(["break", rule])
    #expect(result.status != 0)
    #expect(result.output.contains(message))
  }
}
