// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "turnpike-service",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "turnpike", path: "../.."),
        .package(name: "turnpike-configuration", path: "../../Plugins/Bridges/Configuration"),
        .package(name: "turnpike-http-types", path: "../../Plugins/Bridges/HTTPTypes"),
        .package(name: "turnpike-lifecycle", path: "../../Plugins/Bridges/Lifecycle"),
        .package(name: "turnpike-logging", path: "../../Plugins/Bridges/Logging"),
        .package(name: "turnpike-metrics", path: "../../Plugins/Bridges/Metrics"),
        .package(name: "turnpike-tracing", path: "../../Plugins/Bridges/Tracing"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
        .package(
            url: "https://github.com/apple/swift-configuration.git", from: "1.4.0",
            traits: [.defaults, "Reloading"]),
        .package(
            url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "CityService",
            dependencies: [
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeAuthenticationStackFiles", package: "turnpike"),
                .product(name: "TurnpikeCacheStackFiles", package: "turnpike"),
                .product(name: "TurnpikeCurlStackFiles", package: "turnpike"),
                .product(name: "TurnpikeInspection", package: "turnpike"),
                .product(name: "TurnpikeStackFiles", package: "turnpike"),
                .product(name: "TurnpikeTraffic", package: "turnpike"),
                .product(name: "TurnpikeTrafficStackFiles", package: "turnpike"),
                .product(name: "TurnpikeConfiguration", package: "turnpike-configuration"),
                .product(name: "TurnpikeHTTPTypes", package: "turnpike-http-types"),
                .product(name: "TurnpikeLifecycle", package: "turnpike-lifecycle"),
                .product(name: "TurnpikeLogging", package: "turnpike-logging"),
                .product(name: "TurnpikeMetrics", package: "turnpike-metrics"),
                .product(name: "TurnpikeTracing", package: "turnpike-tracing"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            path: "Sources/CityService"),
        // The launcher from Turnpike's tests, by a symbolic link.
        .target(name: "CSpawn", path: "Tests/ChildProcess/CSpawn"),
        .target(
            name: "ChildProcess", dependencies: ["CSpawn"], path: "Tests/ChildProcess",
            exclude: ["CSpawn"]),
        .testTarget(
            name: "CityServiceTests",
            dependencies: [
                "ChildProcess", "CityService",
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeCurl", package: "turnpike"),
            ],
            path: "Tests/CityServiceTests"),
    ]
)
