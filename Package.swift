// swift-tools-version: 6.3
import PackageDescription

/// What every Swift target of the package is compiled with.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
  name: "Rondo",
  products: [
    .library(name: "Rondo", targets: ["Rondo"]),
    // From C: the header, and what implements it. `make install` makes librondo.so of it.
    .library(name: "RondoC", targets: ["CRondo", "RondoC"]),
    // CFRunLoop's own names: `import RondoCoreFoundation` in Swift, `#include <rondo/CFRunLoop.h>` in C.
    .library(name: "RondoCoreFoundation", targets: ["CRondoCF", "RondoCF", "RondoCoreFoundation"]),
    .library(name: "RondoDaemon", targets: ["RondoDaemon"]),
    .library(name: "RondoFoundation", targets: ["RondoFoundation"]),
    .library(name: "RondoGLib", targets: ["RondoGLib"]),
    .library(name: "RondoInspect", targets: ["RondoInspect"]),
    .executable(name: "rondo-inspect", targets: ["rondo-inspect"]),
    .library(name: "RondoLibuv", targets: ["RondoLibuv"]),
    .library(name: "RondoLog", targets: ["RondoLog"]),
    .library(name: "RondoMain", targets: ["RondoMain"]),
    .library(name: "RondoMetrics", targets: ["RondoMetrics"]),
    .library(name: "RondoPorts", targets: ["RondoPorts"]),
    .library(name: "RondoRecipes", targets: ["RondoRecipes"]),
    .library(name: "RondoServiceLifecycle", targets: ["RondoServiceLifecycle"]),
    .library(name: "RondoSockets", targets: ["RondoSockets"]),
    .library(name: "RondoTLS", targets: ["RondoTLS"]),
    .library(name: "RondoTesting", targets: ["RondoTesting"]),
  ],
  // What needs another library's headers, or another package. Without its trait a product is empty.
  traits: [
    .trait(name: "GLib", description: "RondoGLib: GLib's main context as a guest of a loop. Needs libglib2.0-dev."),
    .trait(name: "Libuv", description: "RondoLibuv: libuv's loop as a guest of a loop. Needs libuv1-dev."),
    .trait(name: "Log", description: "RondoLog: a handler of swift-log's that never blocks a loop."),
    .trait(name: "Metrics", description: "RondoMetrics: what loops do, for swift-metrics."),
    .trait(name: "ServiceLifecycle", description: "RondoServiceLifecycle: a daemon as a service."),
    .trait(name: "TLS", description: "RondoTLS: TLS connections by libevent and OpenSSL. Needs libssl-dev."),
  ],
  // Each is for one trait alone, and is neither fetched nor resolved without it: `TraitTests` asks SwiftPM.
  dependencies: [
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .systemLibrary(name: "CLibevent", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    .systemLibrary(name: "CLinux"),
    .target(name: "Rondo", dependencies: ["CLibevent", "CLinux"], swiftSettings: strict),
    // The C API: rondo.h, and its functions in Swift, which the compiler compares with the header.
    .target(name: "CRondo", exclude: ["Library"]),
    .target(name: "RondoC", dependencies: ["CRondo", "CLinux", "Rondo"], swiftSettings: strict),
    // CFRunLoop's names: the header, its functions in Swift, and the module that shows the header to Swift.
    .target(name: "CRondoCF"),
    .target(
      name: "RondoCF", dependencies: ["CRondoCF", "Rondo", "RondoPorts", "RondoSockets"],
      swiftSettings: strict,
      linkerSettings: [.linkedLibrary("BlocksRuntime")]),
    .target(name: "RondoCoreFoundation", dependencies: ["CRondoCF", "RondoCF"], swiftSettings: strict),
    // Signal handlers, and the calls that Swift's Glibc module lacks and that need more than a line of C.
    .target(name: "CDaemon"),
    .target(
      name: "RondoDaemon", dependencies: ["Rondo", "RondoSockets", "CDaemon", "CLinux"], swiftSettings: strict),
    .target(
      name: "RondoFoundation", dependencies: ["Rondo", "RondoPorts", "RondoSockets", "CLinux"], swiftSettings: strict),
    .systemLibrary(name: "CGLibForRondo", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
    .target(
      name: "CGLibGuest", dependencies: [.target(name: "CGLibForRondo", condition: .when(traits: ["GLib"]))],
      cSettings: [.define("RONDO_GLIB", .when(traits: ["GLib"]))]),
    .target(name: "RondoGLib", dependencies: ["Rondo", "CGLibGuest"], swiftSettings: strict),
    .systemLibrary(name: "CLibuvForRondo", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
    .target(
      name: "CLibuvGuest", dependencies: [.target(name: "CLibuvForRondo", condition: .when(traits: ["Libuv"]))],
      cSettings: [.define("RONDO_LIBUV", .when(traits: ["Libuv"]))]),
    .target(name: "RondoLibuv", dependencies: ["Rondo", "CLibuvGuest"], swiftSettings: strict),
    .target(
      name: "RondoLog",
      dependencies: [
        "Rondo", "RondoSockets", "CLinux",
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Log"])),
      ], swiftSettings: strict),
    .target(name: "RondoMain", dependencies: ["Rondo"], swiftSettings: strict),
    .target(
      name: "RondoMetrics",
      dependencies: [
        "Rondo", .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
      ], swiftSettings: strict),
    .target(name: "RondoPorts", dependencies: ["Rondo", "RondoSockets", "CLinux"], swiftSettings: strict),
    .target(name: "RondoRecipes", dependencies: ["Rondo"], swiftSettings: strict),
    .target(
      name: "RondoServiceLifecycle",
      dependencies: [
        "Rondo", "RondoDaemon",
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"])),
      ], swiftSettings: strict),
    .target(name: "RondoSockets", dependencies: ["Rondo", "CLinux"], swiftSettings: strict),
    .systemLibrary(name: "CTLSForRondo", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    // libevent's half for OpenSSL comes with libevent; its own pkg-config file would link libevent a second time.
    .target(
      name: "CTLSGuest", dependencies: [.target(name: "CTLSForRondo", condition: .when(traits: ["TLS"]))],
      cSettings: [.define("RONDO_TLS", .when(traits: ["TLS"]))],
      linkerSettings: [.linkedLibrary("event_openssl", .when(traits: ["TLS"]))]),
    .target(name: "RondoTLS", dependencies: ["Rondo", "RondoSockets", "CTLSGuest", "CLinux"], swiftSettings: strict),
    .target(name: "RondoTesting", dependencies: ["Rondo"], swiftSettings: strict),
    // Records that other threads read, the signal that stops a thread, and what the dynamic linker knows of it.
    .target(name: "CInspect", dependencies: ["CLinux"]),
    .target(name: "RondoInspect", dependencies: ["Rondo", "CInspect", "CLinux"], swiftSettings: strict),
    .executableTarget(
      name: "rondo-inspect", dependencies: ["CInspect"], exclude: ["rondo-gdb.py"], swiftSettings: strict),
    // Programs that get stuck, each in its way; some of them in C without frame pointers.
    .target(
      name: "CStuck", path: "Tests/CStuck",
      cSettings: [.unsafeFlags(["-fomit-frame-pointer", "-O2"])]),
    .executableTarget(
      name: "rondo-stuck", dependencies: ["CStuck", "Rondo", "RondoInspect"], path: "Tests/RondoStuck",
      swiftSettings: strict),
    .testTarget(
      name: "RondoInspectTests",
      dependencies: [
        "CInspect", "CLinux", "RondoInspect", "Rondo", "RondoTesting", "RondoTestProcess", "RondoTestTraits",
        "rondo-inspect", "rondo-stuck",
      ], swiftSettings: strict),
    // Examples: each prints what it shows, and a test compares.
    .executableTarget(name: "async-main", dependencies: ["Rondo", "RondoMain"], swiftSettings: strict),
    .executableTarget(name: "permanent-thread", dependencies: ["Rondo", "RondoFoundation"], swiftSettings: strict),
    .executableTarget(
      name: "message-port-pair", dependencies: ["Rondo", "RondoFoundation", "RondoPorts"], swiftSettings: strict),
    .executableTarget(
      name: "echo-daemon", dependencies: ["Rondo", "RondoDaemon", "RondoSockets"], swiftSettings: strict),
    .executableTarget(
      name: "mode-switch", dependencies: ["Rondo", "RondoFoundation", "RondoRecipes"], swiftSettings: strict),
    .executableTarget(
      name: "first-steps", dependencies: ["Rondo", "RondoDaemon", "RondoSockets"], path: "Sources/Examples/first-steps",
      swiftSettings: strict),
    .executableTarget(
      name: "rondo-echo", dependencies: ["Rondo", "RondoDaemon", "RondoSockets"], path: "Sources/Examples/rondo-echo",
      exclude: ["rondo-echo.service", "rondo-echo.socket"], swiftSettings: strict),
    .executableTarget(
      name: "rondo-cron", dependencies: ["Rondo", "RondoDaemon"], path: "Sources/Examples/rondo-cron",
      exclude: ["rondo-cron.service"], swiftSettings: strict),
    .executableTarget(
      name: "rondo-chat", dependencies: ["Rondo", "RondoDaemon", "RondoSockets"], path: "Sources/Examples/rondo-chat",
      exclude: ["rondo-chat.service"], swiftSettings: strict),
    // Libraries on libevent: plain events, and evhttp, which comes with libevent's headers.
    .target(
      name: "CForeignEvents", dependencies: ["CLibevent"], path: "Tests/CForeignEvents",
      linkerSettings: [.linkedLibrary("event_extra")]),
    .testTarget(
      name: "RondoTests",
      dependencies: [
        "CForeignEvents", "Rondo", "RondoTesting", "RondoTestBridge", "RondoTestProcess", "RondoTestTraits",
      ],
      swiftSettings: strict),
    // On which threads tests run; and what several test targets do with the process they run in.
    .target(name: "RondoTestTraits", dependencies: ["Rondo"], path: "Tests/TestTraits", swiftSettings: strict),
    .target(
      name: "RondoTestProcess", dependencies: ["CLinux"], path: "Tests/TestProcess", swiftSettings: strict),
    // Any test of a real loop as one of the bridge to Foundation's: `make bridge`.
    .target(
      name: "RondoTestBridge", dependencies: ["Rondo", "RondoFoundation"], path: "Tests/TestBridge",
      swiftSettings: strict),
    .target(name: "CProbe", path: "Tests/CProbe"),
    .executableTarget(
      name: "rondo-probe", dependencies: ["CProbe", "CLinux", "Rondo", "RondoTestProcess", "RondoTesting"],
      path: "Tests/RondoProbe",
      swiftSettings: strict),
    // The C API, called from C.
    .target(name: "CStranger", dependencies: ["CRondo"], path: "Tests/CStranger"),
    .testTarget(name: "RondoCTests", dependencies: ["CRondo", "CStranger", "Rondo", "RondoC"], swiftSettings: strict),
    .testTarget(
      name: "RondoCountTests",
      dependencies: ["RondoTestProcess", "RondoTestTraits", "foundation-probe", "rondo-probe"],
      swiftSettings: strict),
    .testTarget(
      name: "RondoDaemonTests",
      dependencies: [
        "RondoDaemon", "RondoSockets", "Rondo", "RondoTesting", "RondoTestBridge", "RondoTestProcess",
        "RondoTestTraits", "rondo-chat", "rondo-cron", "rondo-echo",
      ],
      swiftSettings: strict),
    // One kind of operation again and again, under callgrind: `make counts`.
    .executableTarget(
      name: "rondo-costs", dependencies: ["CLinux", "Rondo", "RondoTestProcess"], path: "Tests/RondoCosts",
      exclude: ["expected.txt"], swiftSettings: strict),
    .target(
      name: "RondoParity", dependencies: ["Rondo", "RondoTesting", "CLinux"], path: "Tests/RondoParity",
      exclude: ["README.md"], swiftSettings: strict,
      linkerSettings: [.linkedLibrary("Foundation"), .linkedLibrary("BlocksRuntime")]),
    .executableTarget(
      name: "rondo-parity", dependencies: ["RondoParity"], path: "Tests/RondoParityTool", swiftSettings: strict),
    .testTarget(
      name: "RondoParityTests", dependencies: ["Rondo", "RondoParity", "RondoTestTraits", "rondo-parity"],
      swiftSettings: strict),
    // Programs of each form of main. No test target depends on them, for it would be linked with RondoMain itself.
    .executableTarget(
      name: "rondo-main-probe", dependencies: ["CLinux", "Rondo", "RondoMain", "RondoTestProcess"],
      path: "Tests/RondoMainProbe",
      swiftSettings: strict),
    .executableTarget(
      name: "rondo-main-lines", dependencies: ["CLinux", "RondoMain", "RondoMainGuest", "RondoTestProcess"],
      path: "Tests/RondoMainLines",
      swiftSettings: strict),
    .target(
      name: "RondoMainGuest", dependencies: ["CLinux", "RondoMain"], path: "Tests/RondoMainGuest",
      swiftSettings: strict),
    .executableTarget(
      name: "rondo-main-program", dependencies: ["CLinux", "Rondo", "RondoTestProcess"], path: "Tests/RondoMainProgram",
      swiftSettings: strict),
    .testTarget(name: "RondoMainTests", dependencies: ["RondoTestProcess"], swiftSettings: strict),
    .testTarget(
      name: "RondoReadmeTests", dependencies: ["RondoTestTraits", "echo-daemon", "first-steps"], swiftSettings: strict),
    .testTarget(
      name: "RondoStressTests", dependencies: ["Rondo", "RondoTestProcess", "RondoTestTraits", "rondo-probe"],
      swiftSettings: strict),
    // Random operations on four loops for minutes: `make soak`.
    .executableTarget(
      name: "rondo-soak", dependencies: ["Rondo"], path: "Tests/RondoSoak", swiftSettings: strict),
    .target(name: "CHeap", path: "Tests/CHeap"),
    // One program, written for Foundation, with each of the two imports.
    .executableTarget(
      name: "transcript-foundation", path: "Tests/TranscriptFoundation", swiftSettings: [.swiftLanguageMode(.v5)]),
    .executableTarget(
      name: "transcript-rondo", dependencies: ["RondoFoundation"], path: "Tests/TranscriptRondo",
      swiftSettings: [.swiftLanguageMode(.v5), .define("RONDO")]),
    // The programs that the literature on CFRunLoop is made of, with each of the two imports, in Swift and in C.
    .executableTarget(
      name: "cf-programs-real", path: "Tests/CFPrograms", swiftSettings: [.swiftLanguageMode(.v5)],
      linkerSettings: [.linkedLibrary("Foundation"), .linkedLibrary("BlocksRuntime")]),
    .executableTarget(
      name: "cf-programs-rondo", dependencies: ["RondoCoreFoundation"], path: "Tests/CFProgramsRondo",
      swiftSettings: [.swiftLanguageMode(.v5), .define("RONDO")]),
    .executableTarget(
      name: "cf-programs-c", dependencies: ["CRondoCF", "RondoCF"], path: "Tests/CFProgramsC",
      cSettings: [.define("RONDO")]),
    .testTarget(
      name: "RondoCoreFoundationTests",
      dependencies: ["RondoCoreFoundation", "cf-programs-real", "cf-programs-rondo", "cf-programs-c"],
      swiftSettings: strict),
    // Ported and unported files on one thread.
    .executableTarget(
      name: "foundation-probe", dependencies: ["CForeignEvents", "Rondo", "RondoFoundation", "RondoTestProcess"],
      path: "Tests/FoundationProbe",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    // XCTest brings Foundation's names with it, and runs Foundation's loop.
    .testTarget(
      name: "XCTestBridge", dependencies: ["Rondo", "RondoFoundation"], path: "Tests/XCTestBridge",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(
      name: "RondoFoundationTests",
      dependencies: [
        "RondoFoundation", "RondoPorts", "RondoSockets", "Rondo", "RondoTesting", "RondoTestProcess",
        "RondoTestTraits", "CHeap", "transcript-foundation", "transcript-rondo", "foundation-probe",
        "permanent-thread", "message-port-pair", "mode-switch",
      ], swiftSettings: strict),
    // The examples of the book in Rondo.docc, and of the products' first pages.
    .testTarget(
      name: "RondoBookTests",
      dependencies: [
        "Rondo", "RondoDaemon", "RondoSockets", "RondoPorts", "RondoInspect", "RondoRecipes", "RondoTesting",
        "RondoFoundation", "RondoTestProcess", "RondoTestTraits", "CLinux",
      ], swiftSettings: strict),
    .target(
      name: "RondoFuzz", dependencies: ["RondoPorts"], path: "Tests/Fuzz/Properties", swiftSettings: strict),
    .executableTarget(
      name: "rondo-port-probe", dependencies: ["CLinux", "Rondo", "RondoPorts", "RondoSockets", "RondoTestProcess"],
      path: "Tests/RondoPortProbe", swiftSettings: strict),
    .testTarget(
      name: "RondoPortsTests",
      dependencies: [
        "RondoPorts", "RondoSockets", "Rondo", "RondoTesting", "RondoTestProcess", "RondoTestTraits", "RondoFuzz",
        "rondo-port-probe",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "RondoRecipesTests", dependencies: ["RondoRecipes", "Rondo", "RondoTesting"], swiftSettings: strict),
    .testTarget(
      name: "RondoSocketsTests",
      dependencies: [
        "RondoSockets", "Rondo", "RondoTesting", "RondoTestBridge", "RondoTestProcess", "RondoTestTraits",
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
