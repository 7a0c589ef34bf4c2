internal import Glibc

/// What part of their counts tests do that are to do all they can: RONDO_WHOLE; 1 is the whole of them. Nil without it.
private let part = unsafe getenv("RONDO_WHOLE").map { max(1, unsafe Int(String(cString: $0)) ?? 1) }

/// Whether tests are to do all they can: `make stress`, and with it every change that is merged.
///
/// Without RONDO_WHOLE in the environment they leave out what takes minutes: a thirtieth of the counts, no build in release.
package let isWhole = part != nil

/// How often a test does what it counts: a thirtieth of `count`, and more of it where everything is asked for.
package func stressCount(_ count: Int) -> Int {
  count / (part ?? 30)
}
