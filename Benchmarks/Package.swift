// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "bench", targets: ["bench"])],
    dependencies: [.package(name: "turnpike", path: "..")],
    targets: [
        // The launcher from the tests, by a symbolic link.
        .target(name: "CSpawn", path: "Sources/ChildProcess/CSpawn"),
        .target(
            name: "ChildProcess", dependencies: ["CSpawn"], path: "Sources/ChildProcess",
            exclude: ["CSpawn"], swiftSettings: [.swiftLanguageMode(.v6)]),
        .target(name: "MallocCounter"),
        // Gets keys with libhiredis from C, for comparison.
        .target(
            name: "CHiredisPeer",
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        // Echoes messages with libcurl from C, for comparison.
        .target(
            name: "CCurlSocketPeer",
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CCurlSocketPeer", "CHiredisPeer", "ChildProcess", "MallocCounter",
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeAuthentication", package: "turnpike"),
                .product(name: "TurnpikeCache", package: "turnpike"),
                .product(name: "TurnpikeCurl", package: "turnpike"),
                .product(name: "TurnpikeEndpoints", package: "turnpike"),
                .product(name: "TurnpikeInspection", package: "turnpike"),
                .product(name: "TurnpikeSharedState", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
                .product(name: "TurnpikeTraffic", package: "turnpike"),
                .product(name: "TurnpikeValkey", package: "turnpike"),
                .product(name: "TurnpikeValkeyCache", package: "turnpike"),
                .product(name: "TurnpikeWebSocket", package: "turnpike"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
    ]
)
