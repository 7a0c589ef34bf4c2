internal import Glibc

/// How often a test does what it counts: a tenth of `count`, so that all tests are through in minutes.
///
/// With RONDO_WHOLE in the environment it is the whole of it: `make stress`, and with it every change that is merged.
package func stressCount(_ count: Int) -> Int {
  isWhole ? count : count / 10
}

private let isWhole = unsafe getenv("RONDO_WHOLE") != nil
