// swift-tools-version: 6.3
// A package of its own, because it needs the trait HTTP, and with it SwiftNIO's parser.
import PackageDescription

let package = Package(
  name: "rondo-status",
  products: [.executable(name: "rondo-status", targets: ["rondo-status"])],
  dependencies: [.package(name: "Rondo", path: "../../..", traits: ["HTTP"])],
  targets: [
    .executableTarget(
      name: "rondo-status",
      dependencies: ["RondoHTTP", "RondoInspect", "RondoServer"].map { .product(name: $0, package: "Rondo") },
      path: ".", exclude: ["rondo-status.service"])
  ],
  swiftLanguageModes: [.v6]
)
