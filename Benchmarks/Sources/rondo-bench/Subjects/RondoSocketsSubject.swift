/// RondoSockets' sources, which read and send by themselves.
struct RondoSocketsSubject: Subject {
  let name = "rondo.sockets"
  let summary = "SocketSource instead of Loop.DescriptorSource; it differs from rondo in echo alone"
}
