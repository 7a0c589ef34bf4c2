internal import Glibc

/// Whether tests are to do all they can: `make stress`, and with it every change that is merged.
///
/// Without RONDO_WHOLE in the environment they leave out what takes minutes: a thirtieth of the counts, no build in release.
package let isWhole = unsafe getenv("RONDO_WHOLE") != nil

/// How often a test does what it counts: a thirtieth of `count`, and the whole of it where everything is asked for.
package func stressCount(_ count: Int) -> Int {
  isWhole ? count : count / 30
}
