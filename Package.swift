// swift-tools-version: 6.3
import PackageDescription

/// What every Swift target of the package is compiled with.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]
/// What is written as programs for Foundation are.
let plain: [SwiftSetting] = [.swiftLanguageMode(.v5)]

/// A module in Swift.
func module(_ name: String, _ dependencies: [Target.Dependency], linking libraries: [String] = []) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(name)", swiftSettings: strict,
    linkerSettings: libraries.map { .linkedLibrary($0) })
}

/// A module that depends on another library or package, by a trait. Without the trait it is empty.
func adapter(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/Adapters/\(name)", swiftSettings: strict)
}

/// The part of an adapter in C. With a trait, `RONDO_<TRAIT>` is defined and the trait's libraries are linked.
func adapterInC(
  _ name: String, _ dependencies: [Target.Dependency] = [], linking libraries: KeyValuePairs<String, [String]>
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/Adapters/\(name)",
    cSettings: libraries.map { .define("RONDO_\($0.key.uppercased())", .when(traits: [$0.key])) },
    linkerSettings: libraries.flatMap { trait, names in
      names.map { .linkedLibrary($0, .when(traits: [trait])) }
    })
}

/// A program that the tests, the proofs or the README run.
func program(
  _ name: String, at path: String, _ dependencies: [Target.Dependency], exclude: [String] = [],
  _ settings: [SwiftSetting] = strict, linking libraries: [String] = []
) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: settings,
    linkerSettings: libraries.map { .linkedLibrary($0) })
}

/// A module that only tests import.
func support(_ name: String, at path: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: strict)
}

let package = Package(
  name: "Rondo",
  products: [
    .library(name: "Rondo", targets: ["Rondo"]),
    .library(name: "RondoAsync", targets: ["RondoAsync"]),
    // From C: the header, and what implements it. `make install` makes librondo.so of it.
    .library(name: "RondoC", targets: ["CRondo", "RondoC"]),
    // CFRunLoop's own names: `import RondoCoreFoundation` in Swift, `#include <rondo/CFRunLoop.h>` in C.
    .library(name: "RondoCoreFoundation", targets: ["CRondoCF", "RondoCF", "RondoCoreFoundation"]),
    .library(name: "RondoDaemon", targets: ["RondoDaemon"]),
    .library(name: "RondoFoundation", targets: ["RondoFoundation"]),
    .library(name: "RondoGuests", targets: ["RondoGuests"]),
    .library(name: "RondoHTTP", targets: ["RondoHTTP"]),
    .library(name: "RondoHummingbird", targets: ["RondoHummingbird"]),
    .library(name: "RondoInspect", targets: ["RondoInspect"]),
    .executable(name: "rondo-inspect", targets: ["rondo-inspect"]),
    .library(name: "RondoLog", targets: ["RondoLog"]),
    .library(name: "RondoMain", targets: ["RondoMain"]),
    .library(name: "RondoMetrics", targets: ["RondoMetrics"]),
    .library(name: "RondoNIO", targets: ["RondoNIO"]),
    .library(name: "RondoPorts", targets: ["RondoPorts"]),
    // What a server needs, by one import.
    .library(name: "RondoServer", targets: ["RondoServer"]),
    .library(name: "RondoServiceLifecycle", targets: ["RondoServiceLifecycle"]),
    .library(name: "RondoSockets", targets: ["RondoSockets"]),
    .library(name: "RondoTLS", targets: ["RondoTLS"]),
    .library(name: "RondoTesting", targets: ["RondoTesting"]),
  ],
  // What needs another library's headers, or another package. Without its trait a product is empty, or lacks that.
  traits: [
    .trait(name: "GLib", description: "RondoGuests: GLib's main context as a guest of a loop. Needs libglib2.0-dev."),
    .trait(name: "HTTP", description: "RondoHTTP: an HTTP server, by SwiftNIO's parser.", enabledTraits: ["NIO"]),
    .trait(name: "Hummingbird", description: "RondoHummingbird: Hummingbird's routes.", enabledTraits: ["HTTP"]),
    .trait(name: "Libuv", description: "RondoGuests: libuv's loop as a guest of a loop. Needs libuv1-dev."),
    .trait(name: "Log", description: "RondoLog: a handler of swift-log's that never blocks a loop."),
    .trait(name: "Metrics", description: "RondoMetrics: what loops do, for swift-metrics."),
    .trait(name: "NIO", description: "RondoNIO: handlers of SwiftNIO's over a connection."),
    .trait(name: "ServiceLifecycle", description: "RondoServiceLifecycle: a daemon as a service."),
    .trait(name: "TLS", description: "RondoTLS: TLS for connections, by SwiftNIO's BoringSSL.", enabledTraits: ["NIO"]),
  ],
  // Each is for one trait alone, and is neither fetched nor resolved without it: `TraitTests` asks SwiftPM.
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // The loop.
    .systemLibrary(name: "CLibevent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    .systemLibrary(name: "CLinux"),
    module("Rondo", ["CLibevent", "CLinux"]),

    // What most programs need beside it. A target in C is named after its product, because the compiler names it if a
    // program lacks the product. CRondoDaemon has the signal handlers, CRondoInspect the records that other threads read.
    module("RondoAsync", ["Rondo"]),
    module("RondoSockets", ["Rondo", "RondoAsync", "CLinux"]),
    module("RondoGuests", ["Rondo", "CRondoGuests", "CLibevent", "CLinux"]),
    module("RondoMain", ["Rondo", "CLinux"]),
    .target(name: "CRondoDaemon"),
    module("RondoDaemon", ["Rondo", "RondoAsync", "RondoSockets", "CRondoDaemon", "CLinux"]),
    module("RondoServer", ["Rondo", "RondoAsync", "RondoDaemon", "RondoMain", "RondoSockets"]),
    module("RondoPorts", ["Rondo", "RondoSockets", "CLinux"]),
    module("RondoTesting", ["Rondo", "RondoInspect", "CLinux"]),
    module("RondoFoundation", ["Rondo", "RondoPorts", "RondoSockets", "CLinux"]),
    .target(name: "CRondoInspect", dependencies: ["CLinux"]),
    module("RondoInspect", ["Rondo", "CRondoInspect", "CLinux"]),
    program("rondo-inspect", at: "Sources/rondo-inspect", ["CRondoInspect"], exclude: ["rondo-gdb.py"]),

    // From C: rondo.h and its functions, which the compiler compares with the header; and CFRunLoop's names. The functions
    // take pointers where RondoCoreFoundation shows classes, and no module can import both.
    .target(name: "CRondo", exclude: ["Library"]),
    module("RondoC", ["CRondo", "CLinux", "Rondo", "RondoInspect"]),
    .target(name: "CRondoCF"),
    module("RondoCF", ["CRondoCF", "Rondo", "RondoPorts", "RondoSockets"], linking: ["BlocksRuntime"]),
    module("RondoCoreFoundation", ["CRondoCF", "Rondo", "RondoCF"]),

    // Adapters. What finds GLib is a module of its own, for its headers lie in a directory that pkg-config knows.
    .systemLibrary(
      name: "CGLibForRondo", path: "Sources/Adapters/CGLibForRondo", pkgConfig: "glib-2.0",
      providers: [.apt(["libglib2.0-dev"])]),
    adapterInC(
      "CRondoGuests", [.target(name: "CGLibForRondo", condition: .when(traits: ["GLib"]))],
      linking: ["GLib": [], "Libuv": ["uv"]]),
    adapter(
      "RondoLog",
      [
        "Rondo", "RondoSockets", "CLinux",
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Log"])),
      ]),
    adapter(
      "RondoMetrics",
      ["Rondo", .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"]))]),
    adapter(
      "RondoNIO",
      [
        "Rondo", "RondoSockets",
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio", condition: .when(traits: ["NIO"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
      ]),
    adapter(
      "RondoTLS",
      [
        "Rondo", "RondoNIO", "RondoSockets",
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["TLS"])),
        .product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["TLS"])),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TLS"])),
      ]),
    adapter(
      "RondoHTTP",
      [
        "CRondoDaemon", "Rondo", "RondoNIO", "RondoSockets",
        .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["HTTP"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["HTTP"])),
      ]),
    adapter(
      "RondoHummingbird",
      [
        "Rondo", "RondoHTTP", "RondoSockets",
        .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Hummingbird"])),
        .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Hummingbird"])),
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Hummingbird"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Hummingbird"])),
      ]),
    adapter(
      "RondoServiceLifecycle",
      [
        "Rondo", "RondoDaemon",
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"])),
      ]),

    // Modules of the tests, and programs that they run. Sources/Examples is a package of its own.
    support("RondoTestSupport", at: "Tests/TestSupport", ["CLinux", "Rondo"]),
    support("RondoTestBridge", at: "Tests/TestBridge", ["Rondo", "RondoFoundation"]),
    support("RondoFuzz", at: "Tests/Fuzz/Properties", ["RondoPorts"]),
    // Libraries on libevent, hosts, the heap and the stack. Functions without frame pointers are to be walked.
    .target(
      name: "CTests", dependencies: ["CLibevent"], path: "Tests/CTests",
      cSettings: [.unsafeFlags(["-fomit-frame-pointer", "-O2"])], linkerSettings: [.linkedLibrary("event_extra")]),
    // The C API, called from C.
    .target(name: "CStranger", dependencies: ["CRondo"], path: "Tests/CStranger"),
    program(
      "rondo-probe", at: "Tests/RondoProbe",
      [
        "CTests", "CLinux", "Rondo", "RondoAsync", "RondoDaemon", "RondoPorts", "RondoSockets", "RondoTestSupport",
        "RondoTesting",
      ]),
    // Programs that get stuck, each in its way.
    program("rondo-stuck", at: "Tests/RondoStuck", ["CTests", "Rondo", "RondoInspect"]),
    // Ported and unported files on one thread.
    program(
      "foundation-probe", at: "Tests/FoundationProbe",
      ["CTests", "Rondo", "RondoFoundation", "RondoGuests", "RondoTestSupport"], plain),
    // Programs of each form of main. No test target depends on them, for it would be linked with RondoMain itself.
    support("RondoMainGuest", at: "Tests/RondoMainGuest", ["CLinux", "RondoMain"]),
    program(
      "rondo-main-probe", at: "Tests/RondoMainProbe",
      ["CLinux", "Rondo", "RondoAsync", "RondoMain", "RondoTestSupport"]),
    program(
      "rondo-main-lines", at: "Tests/RondoMainLines", ["CLinux", "RondoMain", "RondoMainGuest", "RondoTestSupport"]),
    program("rondo-main-program", at: "Tests/RondoMainProgram", ["CLinux", "Rondo", "RondoTestSupport"]),
    // `make parity` and `make counts`; `rondo-probe` is for `make soak`.
    program(
      "rondo-parity", at: "Tests/RondoParity", ["Rondo", "RondoTesting", "RondoTestSupport", "CLinux"],
      exclude: ["README.md"],
      linking: ["Foundation", "BlocksRuntime"]),
    program(
      "rondo-costs", at: "Sources/Tools/costs", ["CLinux", "Rondo", "RondoInspect", "RondoTestSupport"],
      exclude: ["expected.txt", "peers"]),

    // Folders have the tests of what is above the core; the mutants' build leaves those out.
    tests(
      "RondoTests",
      [
        "CLibevent", "CLinux", "CTests", "Rondo", "RondoAsync", "RondoGuests", "RondoTesting", "RondoTestBridge",
        "RondoTestSupport",
      ]),
    tests(
      "RondoSocketsTests", ["CLinux", "RondoSockets", "Rondo", "RondoTesting", "RondoTestBridge", "RondoTestSupport"]),
    tests(
      "RondoDaemonTests",
      [
        "RondoDaemon", "RondoAsync", "RondoSockets", "Rondo", "RondoTesting", "RondoTestBridge", "RondoTestSupport",
        "rondo-probe",
      ]),
    tests(
      "RondoPortsTests",
      [
        "CLinux", "RondoPorts", "RondoSockets", "Rondo", "RondoTesting", "RondoTestSupport", "RondoFuzz", "rondo-probe",
      ]),
    tests(
      "RondoFoundationTests",
      [
        "RondoFoundation", "RondoPorts", "RondoSockets", "Rondo", "RondoTesting", "RondoTestSupport", "CTests",
        "foundation-probe",
      ]),
    tests(
      "RondoInspectTests",
      [
        "CRondoInspect", "CLinux", "CTests", "RondoDaemon", "RondoInspect", "Rondo", "RondoTesting", "RondoTestSupport",
        "rondo-inspect",
        "rondo-stuck",
      ]),
    tests(
      "RondoCTests",
      ["CLinux", "CRondo", "CStranger", "Rondo", "RondoC", "RondoCoreFoundation", "RondoFoundation"]),
    tests("RondoParityTests", ["Rondo", "RondoTestSupport", "rondo-parity"]),
    // The documentation: its programs and examples, links and sentences.
    tests(
      "RondoBookTests",
      [
        "Rondo", "RondoAsync", "RondoDaemon", "RondoGuests", "RondoSockets", "RondoPorts", "RondoInspect",
        "RondoTesting", "RondoFoundation", "RondoTestSupport", "CLinux",
      ]),
    // Counts, races and programs that `make stress` takes at their whole length.
    tests("RondoWholeTests", ["Rondo", "RondoAsync", "RondoTestSupport", "foundation-probe", "rondo-probe"]),
  ],
  swiftLanguageModes: [.v6]
)
