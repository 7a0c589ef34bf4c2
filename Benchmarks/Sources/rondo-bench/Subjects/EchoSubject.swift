/// A second way of a library to serve a stream, which differs from its first in the echo servers alone.
struct EchoSubject: Subject {
  let name: String
  let summary: String
}
