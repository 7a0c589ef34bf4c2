// swift-tools-version: 6.3
// What needs SwiftNIO and its kin is tested in a package of its own: the default build has none of them.
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

func tests(_ name: String, _ products: [String], _ others: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: products.map { .product(name: $0, package: "Rondo") } + others, path: name,
    swiftSettings: settings)
}

func nio(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-nio") }

let package = Package(
  name: "RondoProtocols",
  dependencies: [
    .package(name: "Rondo", path: "../..", traits: ["NIO", "TLS", "HTTP", "Hummingbird", "ServiceLifecycle"]),
    .package(path: "../../Sources/Examples/rondo-status"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // OpenSSL, as the peer of BoringSSL. Needs libssl-dev.
    .target(
      name: "COpenSSLPeer", path: "COpenSSLPeer", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    tests(
      "RondoNIOTests", ["Rondo", "RondoNIO", "RondoSockets", "RondoTesting"],
      [
        nio("NIOCore"), nio("NIOHTTP1"), nio("NIOWebSocket"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
      ]),
    tests(
      "RondoTLSTests", ["Rondo", "RondoSockets", "RondoTLS", "RondoTesting"], ["COpenSSLPeer"]),
    tests(
      "RondoHTTPTests", ["Rondo", "RondoHTTP", "RondoInspect", "RondoNIO", "RondoSockets", "RondoTesting"],
      [
        nio("NIOCore"), nio("NIOWebSocket"), .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
    tests(
      "RondoHummingbirdTests", ["Rondo", "RondoHTTP", "RondoHummingbird", "RondoSockets", "RondoTesting"],
      [
        nio("NIOCore"), .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
      ]),
    // The examples of the articles and catalogues on HTTP.
    tests(
      "RondoProtocolBookTests",
      [
        "Rondo", "RondoDaemon", "RondoHTTP", "RondoHummingbird", "RondoServiceLifecycle", "RondoSockets",
        "RondoTesting",
      ],
      [
        nio("NIOCore"), .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ]),
    // The example, as a process that clients attack and restart.
    tests(
      "RondoStatusTests", ["Rondo", "RondoAsync", "RondoSockets"],
      [.product(name: "rondo-status", package: "rondo-status")]),
    // A program with an async main. No test target depends on it, for it would be linked with RondoMain itself.
    .executableTarget(
      name: "protocols-main",
      dependencies: ["Rondo", "RondoHTTP", "RondoHummingbird", "RondoMain", "RondoSockets"].map {
        .product(name: $0, package: "Rondo")
      } + [.product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log")],
      path: "ProtocolsMain", swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
