/// A second way of a library to serve a stream, which differs from its first in the echo servers alone.
struct EchoSubject: Subject {
  let name: String
  let summary: String

  static let all = [
    EchoSubject(name: "rondo.sockets", summary: "SocketSource instead of Loop.DescriptorSource, in echo alone"),
    EchoSubject(name: "rondo.async", summary: "Connection in async code, in echo alone"),
    EchoSubject(name: "nio.async", summary: "NIOAsyncChannel instead of a ChannelHandler, in echo alone"),
  ]
}
