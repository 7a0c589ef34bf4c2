import CPeers

/// The subjects there are, in the order of the reports. A new one is a line here and a file beside this one.
enum Subjects {
  /// The subject every ratio is taken against.
  static let limit = "raw"

  /// The subject the suite is about.
  static let ours = "rondo"

  static let all: [any Subject] = [
    CPeer(bench_peer_raw),
    CPeer(bench_peer_libevent),
    CFRunLoopSubject(),
    RondoSubject(),
  ]
}
