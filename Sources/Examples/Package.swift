// swift-tools-version: 6.3
// A package of its own, as yours would be: each program names the products that it imports.
import PackageDescription

func example(
  _ name: String, _ products: [String], exclude: [String] = [], at folder: String = "", _ settings: [SwiftSetting] = [],
  linking libraries: [String] = []
) -> Target {
  .executableTarget(
    name: name, dependencies: products.map { .product(name: $0, package: "Rondo") }, path: folder + name,
    exclude: exclude, swiftSettings: settings, linkerSettings: libraries.map { .linkedLibrary($0) })
}

/// Programs that were written for Foundation or CoreFoundation, and their ports: one file, with another import.
func port(_ name: String, _ products: [String]) -> Target {
  example(name, products, at: "CFRunLoop/", [.swiftLanguageMode(.v5), .define("RONDO")])
}

func original(_ name: String, linking libraries: [String] = []) -> Target {
  example(name, [], at: "CFRunLoop/", [.swiftLanguageMode(.v5)], linking: libraries)
}

let package = Package(
  name: "RondoExamples",
  dependencies: [.package(name: "Rondo", path: "../..")],
  targets: [
    // The README's.
    example("async-echo", ["RondoServer"]),
    example("first-loop", ["Rondo", "RondoDaemon"]),
    example("first-steps", ["Rondo", "RondoDaemon", "RondoSockets"]),
    example("async-main", ["Rondo", "RondoAsync", "RondoMain"]),
    example("echo-daemon", ["Rondo", "RondoAsync", "RondoDaemon", "RondoSockets"]),
    example(
      "rondo-echo", ["Rondo", "RondoDaemon", "RondoSockets"], exclude: ["rondo-echo.service", "rondo-echo.socket"]),
    example("rondo-cron", ["Rondo", "RondoDaemon"], exclude: ["rondo-cron.service"]),
    example("rondo-chat", ["Rondo", "RondoAsync", "RondoDaemon", "RondoSockets"], exclude: ["rondo-chat.service"]),
    example("permanent-thread", ["Rondo", "RondoFoundation"]),
    example("mode-switch", ["Rondo", "RondoFoundation"]),
    example("message-port-pair", ["Rondo", "RondoFoundation", "RondoPorts"]),
    original("transcript"),
    port("transcript-rondo", ["RondoFoundation"]),
    original("listings", linking: ["Foundation", "BlocksRuntime"]),
    port("listings-rondo", ["RondoCoreFoundation"]),
    // The article From the idiom to Rondo: its old lines, and its new ones.
    original("idioms", linking: ["BlocksRuntime"]),
    example(
      "idioms-rondo", ["Rondo", "RondoFoundation", "RondoInspect", "RondoSockets"], at: "CFRunLoop/",
      [.define("RONDO")]),
    .executableTarget(
      name: "listings-c", dependencies: [.product(name: "RondoCoreFoundation", package: "Rondo")],
      path: "CFRunLoop/listings-c", cSettings: [.define("RONDO")], linkerSettings: [.linkedLibrary("dispatch")]),
    // It runs async-echo and async-main, too. What depends on them has RondoMain's executors itself.
    .testTarget(
      name: "ExampleTests",
      dependencies: [
        .product(name: "Rondo", package: "Rondo"), .product(name: "RondoDaemon", package: "Rondo"),
        .product(name: "RondoFoundation", package: "Rondo"), .product(name: "RondoSockets", package: "Rondo"),
        .product(name: "RondoTesting", package: "Rondo"), "first-loop", "first-steps", "echo-daemon", "rondo-echo",
        "rondo-cron", "rondo-chat", "permanent-thread", "mode-switch", "message-port-pair", "transcript",
        "transcript-rondo", "listings", "listings-rondo", "listings-c", "idioms", "idioms-rondo",
      ], path: "Tests/ExampleTests"),
    // XCTest brings Foundation's names with it, and runs Foundation's loop.
    .testTarget(
      name: "NamesTests",
      dependencies: [.product(name: "Rondo", package: "Rondo"), .product(name: "RondoFoundation", package: "Rondo")],
      path: "Tests/NamesTests", swiftSettings: [.swiftLanguageMode(.v5)]),
  ],
  swiftLanguageModes: [.v6]
)
