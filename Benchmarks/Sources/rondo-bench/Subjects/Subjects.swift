import CPeers
import CRondoPeer

/// The subjects there are, in the order of the reports. A new one is a line here and a file beside this one.
enum Subjects {
  /// The subject every ratio is taken against.
  static let limit = "raw"

  /// Whether a subject is a limit, as "raw.spin": Rondo is not behind one.
  static func isLimit(_ name: String) -> Bool {
    name == limit || name.hasPrefix(limit + ".")
  }

  /// Whether a subject is another run loop, which Rondo can be ahead of or behind.
  static func isPeer(_ name: String) -> Bool {
    !isLimit(name) && !isOurs(name)
  }

  /// The subject the suite is about.
  static let ours = "rondo"

  /// Whether a subject is Rondo or a variant of it, as "rondo.precise": a variant is a line and a file like any other.
  static func isOurs(_ name: String) -> Bool {
    name == ours || name.hasPrefix(ours + ".")
  }

  static let all: [any Subject] = [
    CPeer(bench_peer_raw),
    CPeer(bench_peer_raw_fifo),
    CPeer(bench_peer_raw_spin),
    CPeer(bench_peer_libevent),
    CPeer(bench_peer_libuv),
    CPeer(bench_peer_libev),
    CPeer(bench_peer_glib),
    CPeer(bench_peer_sd_event),
    CFRunLoopSubject(),
    RunLoopSubject(),
    DispatchSubject(),
    TaskSleepSubject(),
    DefaultActorSubject(),
    NIOSubject(),
    RondoSubject(),
    RondoPreciseSubject(),
    RondoSliceSubject(isPrecise: false),
    RondoSliceSubject(isPrecise: true),
    RondoBridgeSubject(),
    RondoSpinSubject.most,
    RondoSpinSubject.none,
    RondoInsightSubject(depth: .watched),
    RondoInsightSubject(depth: .measured),
    RondoTimeoutSubject(),
    CPeer(bench_peer_rondo_c),
    ServerSubject(name: "rondo.sockets", summary: "SocketSource instead of Loop.DescriptorSource, in echo alone"),
    ServerSubject(name: "rondo.async", summary: "async code instead of callouts, in echo and udp alone"),
    ServerSubject(name: "nio.async", summary: "NIOAsyncChannel instead of a ChannelHandler, in echo alone"),
    ServerSubject(name: "rondo.hummingbird", summary: "Hummingbird's router served by Rondo, in http alone"),
    ServerSubject(
      name: "hummingbird", summary: "Hummingbird on SwiftNIO: Application, Router, in http, https and tls alone"),
    ServerSubject(name: "openssl", summary: "OpenSSL on epoll(7), one answer for all, in https and tls alone"),
  ]
}
