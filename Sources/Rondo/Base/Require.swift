/// Ends the program with a message, in a release build as well, unless the caller has kept a rule of the API.
///
/// `precondition` ends a release build without its message, and a daemon in use is a release build.
@inline(__always)
package func require(
  _ isKept: Bool, _ message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
  if !isKept { reportBreach(message, file, line) }
}

/// Apart, so that a caller that keeps the rule does not pay for making the message.
@inline(never)
private func reportBreach(_ message: () -> String, _ file: StaticString, _ line: UInt) -> Never {
  fatalError(message(), file: file, line: line)
}
