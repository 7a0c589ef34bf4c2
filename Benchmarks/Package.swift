// swift-tools-version: 6.3
// The benchmarks are a package of their own, so that Rondo itself depends on no other package.

import Foundation
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let warnings = CSetting.unsafeFlags(["-Wall", "-Wextra"])

// SwiftPM remembers what a manifest said: after installing a peer, build once with `--manifest-cache none`, as the
// Makefile always does.
let headers = [
  "event2/event.h", "uv.h", "ev.h", "glib-2.0/glib.h", "systemd/sd-event.h", "openssl/ssl.h", "curl/curl.h",
  "hiredis/async.h",
]

// Some lie in a directory that is named after the machine.
#if arch(x86_64)
  let machine = "x86_64-linux-gnu"
#elseif arch(arm64)
  let machine = "aarch64-linux-gnu"
#else
  let machine = ""
#endif
let found = headers.map { header in
  ["/usr/include/\(header)", "/usr/include/\(machine)/\(header)"].contains {
    FileManager.default.fileExists(atPath: $0)
  }
}

// A file looks for its library's header by itself, and a header that was not there is no dependency of it: the files
// are compiled again when this changes.
let peers: [CSetting] = [
  .define("RONDO_BENCH_FOUND", to: "0b" + found.map { $0 ? "1" : "0" }.joined())
]

// libev alone has no pkg-config file.
let hasLibev = found[2]
let libevDefine: [CSetting] = hasLibev ? [.define("RONDO_BENCH_LIBEV")] : []
let libevLink: [LinkerSetting] = hasLibev ? [.linkedLibrary("ev")] : []

// Products of Rondo's that need another library, and their tests.
let (hasLibuv, hasGLib) = (found[1], found[3])
let traits: Set<Package.Dependency.Trait> = Set(
  (hasGLib ? ["GLib"] : []) + (hasLibuv ? ["Libuv"] : []) + ["Log", "Metrics", "ServiceLifecycle"]
    + ["HTTP", "Hummingbird", "TLS"].map { .trait(name: $0, condition: .when(traits: ["NIO"])) })
let guests: [SwiftSetting] =
  (hasGLib ? [.define("RONDO_GLIB")] : []) + (hasLibuv ? [.define("RONDO_LIBUV")] : [])
// libevent's half for OpenSSL comes with libevent, and is of no use without the other one.
let tlsLink: [LinkerSetting] = found[5] ? [.linkedLibrary("event_openssl")] : []
// Its pkg-config file has a flag that SwiftPM does not pass on.
let hiredisLink: [LinkerSetting] = found[7] ? [.linkedLibrary("hiredis")] : []

/// A program of the workload `start`: one loop, one timer, and nothing linked but what that takes.
func start(_ name: String, _ dependencies: [Target.Dependency] = [], libev: Bool = false) -> Target {
  .executableTarget(
    name: "start-\(name)", dependencies: ["CStart"] + dependencies, path: "Sources/Start/\(name)",
    cSettings: [warnings] + peers + (libev ? libevDefine : []), swiftSettings: settings,
    linkerSettings: libev ? libevLink : [])
}

/// A program of the workload `echo`: one loop that serves a listening socket.
func echo(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .executableTarget(
    name: "echo-\(name)", dependencies: ["CEcho"] + dependencies, path: "Sources/Echo/\(name)",
    cSettings: [warnings] + peers, swiftSettings: settings)
}

/// A program of the workload `http`: one loop that serves HTTP at an address.
func http(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "http-\(name)", dependencies: ["CHTTP"] + dependencies, path: "Sources/HTTP/\(name)",
    cSettings: [warnings] + peers, swiftSettings: settings)
}

/// A program of the workloads `https` and `tls`.
func https(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "https-\(name)", dependencies: ["CHTTP"] + dependencies, path: "Sources/HTTPS/\(name)",
    cSettings: [warnings] + peers, swiftSettings: settings)
}

/// A product that is neither fetched nor built without the trait NIO.
func withNIO(_ name: String, _ package: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: ["NIO"]))
}

/// A program of the workload `udp.burst`: one loop that receives from a bound socket.
func burst(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .executableTarget(
    name: "burst-\(name)", dependencies: ["CBurst"] + dependencies, path: "Sources/Burst/\(name)",
    cSettings: [warnings] + peers, swiftSettings: settings)
}

let log = withNIO("Logging", "swift-log")
let rondoHTTP = [
  withNIO("HTTPTypes", "swift-http-types"), withNIO("Rondo", "Rondo"), withNIO("RondoHTTP", "Rondo"),
  withNIO("RondoMain", "Rondo"), withNIO("RondoSockets", "Rondo"),
]

let package = Package(
  name: "RondoBenchmarks",
  products: [.executable(name: "rondo-bench", targets: ["rondo-bench"])],
  traits: [.trait(name: "NIO", description: "SwiftNIO and Hummingbird as subjects; they take minutes to build.")],
  dependencies: [
    .package(name: "Rondo", path: "..", traits: traits),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    // What products of Rondo's join, for their tests.
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // What every subject shares: the clock, the callouts, the meters, pinning, and the shape of a peer written in C.
    .target(name: "CBench", dependencies: ["CBurst", "COpensslPeer"], cSettings: [warnings] + peers),
    // The peers' libraries, found by pkg-config. One that is not installed costs a warning and its subject, no more.
    .systemLibrary(name: "CLibeventPeer", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    .systemLibrary(name: "CLibeventThreadsPeer", pkgConfig: "libevent_pthreads", providers: [.apt(["libevent-dev"])]),
    .systemLibrary(name: "CLibuvPeer", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
    .systemLibrary(name: "CGlibPeer", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
    .systemLibrary(name: "CSystemdPeer", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    // The peers written in C, one file each.
    .target(
      name: "CPeers",
      dependencies: [
        "CBench", "CLibeventPeer", "CLibeventThreadsPeer", "CLibuvPeer", "CGlibPeer", "CSystemdPeer",
      ],
      cSettings: [warnings] + peers + libevDefine, linkerSettings: libevLink),
    // Rondo by its C API.
    .target(
      name: "CRondoPeer", dependencies: ["CBench", .product(name: "RondoC", package: "Rondo")],
      cSettings: [warnings]),
    .executableTarget(
      name: "rondo-bench",
      dependencies: [
        "CBench", "CPeers", "CRondoPeer",
        .product(name: "Rondo", package: "Rondo"),
        .product(name: "RondoFoundation", package: "Rondo"),
        .product(name: "RondoDaemon", package: "Rondo"), .product(name: "RondoInspect", package: "Rondo"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
      ],
      swiftSettings: settings,
      // `import CoreFoundation` alone links neither the library it lives in nor what its blocks need.
      linkerSettings: [.linkedLibrary("Foundation"), .linkedLibrary("BlocksRuntime")]
    ),
    // Foreign loops with a Rondo loop as their guest, one file each, and what they are put to.
    .target(
      name: "CHosts", dependencies: ["CLibuvPeer", "CGlibPeer", "CSystemdPeer"], cSettings: [warnings] + peers),
    .executableTarget(
      name: "rondo-hosts",
      dependencies: [
        "CHosts", .product(name: "Rondo", package: "Rondo"),
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
      ], swiftSettings: settings),
    // What grows with the number of connections, beyond the descriptors of any machine.
    .executableTarget(
      name: "rondo-scale",
      dependencies: [
        .product(name: "Rondo", package: "Rondo"), .product(name: "RondoSockets", package: "Rondo"),
        .product(name: "RondoTesting", package: "Rondo"),
      ], swiftSettings: settings),
    // Foreign loops, and libraries on libevent, as guests of a Rondo loop.
    .systemLibrary(name: "COpensslPeer", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurlPeer", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .target(
      name: "CGuests",
      dependencies: ["CLibeventPeer", "CLibuvPeer", "CGlibPeer", "CSystemdPeer", "COpensslPeer", "CCurlPeer"],
      cSettings: [warnings] + peers, linkerSettings: [.linkedLibrary("event_extra")] + tlsLink + hiredisLink),
    .target(
      name: "RondoCurl", dependencies: ["CGuests", .product(name: "Rondo", package: "Rondo")], swiftSettings: settings),
    .testTarget(
      name: "RondoGuestTests",
      dependencies: [
        "CGuests", "RondoCurl",
        .product(name: "Rondo", package: "Rondo"),
        .product(name: "RondoFoundation", package: "Rondo"),
        .product(name: "RondoGuests", package: "Rondo"),
        .product(name: "RondoSockets", package: "Rondo"),
      ], swiftSettings: settings + guests,
      linkerSettings: [.linkedLibrary("Foundation"), .linkedLibrary("BlocksRuntime")]),
    .testTarget(
      name: "RondoServiceTests",
      dependencies: [
        .product(name: "Rondo", package: "Rondo"),
        .product(name: "RondoDaemon", package: "Rondo"),
        .product(name: "RondoLog", package: "Rondo"),
        .product(name: "RondoMetrics", package: "Rondo"),
        .product(name: "RondoServiceLifecycle", package: "Rondo"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ], swiftSettings: settings),
    .target(name: "CStart"),
    start("raw"),
    start("libevent", ["CLibeventPeer"]),
    start("libuv", ["CLibuvPeer"]),
    start("libev", libev: true),
    start("glib", ["CGlibPeer"]),
    start("sd-event", ["CSystemdPeer"]),
    // `import CoreFoundation` alone does not link the library it lives in.
    .executableTarget(
      name: "start-cfrunloop", dependencies: ["CStart"], path: "Sources/Start/cfrunloop", swiftSettings: settings,
      linkerSettings: [.linkedLibrary("Foundation"), .linkedLibrary("BlocksRuntime")]),
    start("runloop"),
    start("dispatch"),
    start("task-sleep"),
    start(
      "nio",
      [
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
      ]),
    start("rondo", [.product(name: "Rondo", package: "Rondo")]),
    .target(name: "CEcho", cSettings: [warnings]),
    echo("raw"),
    echo("libevent", ["CLibeventPeer"]),
    echo("libuv", ["CLibuvPeer"]),
    echo("dispatch"),
    echo(
      "nio",
      [
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
      ]),
    echo(
      "nio-async",
      [
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
      ]),
    echo("rondo", [.product(name: "Rondo", package: "Rondo")]),
    echo(
      "rondo-async",
      [
        .product(name: "Rondo", package: "Rondo"), .product(name: "RondoMain", package: "Rondo"),
        .product(name: "RondoSockets", package: "Rondo"),
      ]),
    echo(
      "rondo-sockets",
      [.product(name: "Rondo", package: "Rondo"), .product(name: "RondoSockets", package: "Rondo")]),
    .target(name: "CHTTP", cSettings: [warnings]),
    http("hummingbird", [withNIO("Hummingbird", "hummingbird"), withNIO("NIOPosix", "swift-nio"), log]),
    http("rondo", rondoHTTP),
    http(
      "rondo-hummingbird",
      rondoHTTP + [withNIO("RondoHummingbird", "Rondo"), withNIO("Hummingbird", "hummingbird"), log]),
    https("openssl", ["COpensslPeer"]),
    https(
      "hummingbird",
      [
        withNIO("Hummingbird", "hummingbird"), withNIO("HummingbirdTLS", "hummingbird"),
        withNIO("NIOPosix", "swift-nio"), withNIO("NIOSSL", "swift-nio-ssl"), log,
      ]),
    https("rondo", rondoHTTP + [withNIO("RondoTLS", "Rondo")]),
    .target(name: "CBurst", cSettings: [warnings]),
    burst("raw"),
    burst("libuv", ["CLibuvPeer"]),
    burst(
      "nio",
      [
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
      ]),
    burst("rondo", [.product(name: "Rondo", package: "Rondo"), .product(name: "RondoSockets", package: "Rondo")]),
    burst(
      "rondo-async",
      [
        .product(name: "Rondo", package: "Rondo"), .product(name: "RondoMain", package: "Rondo"),
        .product(name: "RondoSockets", package: "Rondo"),
      ]),
    .testTarget(
      name: "RondoBenchTests", dependencies: ["rondo-bench", "rondo-hosts", "https-openssl"], swiftSettings: settings),
    // Here, because a runner that RondoMain is linked with runs all tests of its package that way.
    .testTarget(
      name: "RunnerTests",
      dependencies: [
        .product(name: "Rondo", package: "Rondo"), .product(name: "RondoAsync", package: "Rondo"),
        .product(name: "RondoMain", package: "Rondo"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
