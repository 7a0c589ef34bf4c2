import CStranger
import RondoC
import Testing

/// The C API as a stranger uses and misuses it, in C: the tests are in `CStranger`.
@Suite struct StrangerTests {
  @Test(arguments: tests(of: 0)) func `bad arguments`(_ test: Stranger) { test.check() }
  @Test(arguments: tests(of: 1)) func `references and contexts`(_ test: Stranger) { test.check() }
  @Test(arguments: tests(of: 2)) func `what a loop does`(_ test: Stranger) { test.check() }
  @Test(arguments: tests(of: 3)) func `several threads`(_ test: Stranger) { test.check() }
  @Test(arguments: tests(of: 4)) func `several processes`(_ test: Stranger) { test.check() }
  @Test(arguments: tests(of: 5)) func `random operations`(_ test: Stranger) { test.check() }
  @Test(arguments: tests(of: 6)) func `calls that keep their loop`(_ test: Stranger) { test.check() }

  private static func tests(of list: Int) -> [Stranger] {
    (0...).lazy.map { Stranger(list: list, index: $0) }.prefix { $0.name != nil }.map { $0 }
  }
}

/// One test of a list in C.
struct Stranger: Sendable, CustomTestStringConvertible {
  let list: Int
  let index: Int

  private var test: UnsafePointer<stranger_test>? { unsafe stranger_at(CInt(list), index) }

  var name: String? { unsafe test.map { unsafe String(cString: $0.pointee.name) } }

  var testDescription: String { name ?? "" }

  func check() {
    let failure = unsafe stranger_run(test).map { unsafe String(cString: $0) }
    #expect(failure == nil)
  }
}
