// swift-tools-version: 6.2
// The benchmarks are a package of their own, so that Rondo itself depends on no other package.

import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
  name: "RondoBenchmarks",
  products: [.executable(name: "rondo-bench", targets: ["rondo-bench"])],
  dependencies: [
    .package(name: "Rondo", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  ],
  targets: [
    // What every subject shares: the clock, the meters, pinning, and the shape of a peer written in C.
    .target(name: "CBench", cSettings: [.unsafeFlags(["-Wall", "-Wextra"])]),
    // The peers' libraries, found by pkg-config. One that is not installed costs a warning and its subject, no more.
    .systemLibrary(name: "CLibeventPeer", pkgConfig: "libevent_core", providers: [.apt(["libevent-dev"])]),
    // The peers written in C, one file each.
    .target(
      name: "CPeers", dependencies: ["CBench", "CLibeventPeer"], cSettings: [.unsafeFlags(["-Wall", "-Wextra"])]),
    .executableTarget(
      name: "rondo-bench",
      dependencies: [
        "CBench", "CPeers",
        .product(name: "Rondo", package: "Rondo"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      swiftSettings: settings,
      // `import CoreFoundation` alone links neither the library it lives in nor what its blocks need.
      linkerSettings: [.linkedLibrary("Foundation"), .linkedLibrary("BlocksRuntime")]
    ),
  ],
  swiftLanguageModes: [.v6]
)
