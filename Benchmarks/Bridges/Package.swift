// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "bench-bridges",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "bridges", targets: ["bridges"])],
    dependencies: [
        .package(name: "turnpike", path: "../.."),
        .package(name: "turnpike-logging", path: "../../Plugins/Bridges/Logging"),
        .package(name: "turnpike-metrics", path: "../../Plugins/Bridges/Metrics"),
        .package(name: "turnpike-tracing", path: "../../Plugins/Bridges/Tracing"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
    ],
    targets: [
        .executableTarget(
            name: "bridges",
            dependencies: [
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
                .product(name: "TurnpikeLogging", package: "turnpike-logging"),
                .product(name: "TurnpikeMetrics", package: "turnpike-metrics"),
                .product(name: "TurnpikeTracing", package: "turnpike-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ])
    ]
)
