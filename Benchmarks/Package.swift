// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "bench", targets: ["bench"])],
    dependencies: [.package(name: "turnpike", path: "..")],
    targets: [
        .target(name: "MallocCounter"),
        // Gets keys through libhiredis in C, for comparison.
        .target(
            name: "CHiredisPeer",
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CHiredisPeer", "MallocCounter",
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeCache", package: "turnpike"),
                .product(name: "TurnpikeCurl", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
                .product(name: "TurnpikeValkey", package: "turnpike"),
                .product(name: "TurnpikeValkeyCache", package: "turnpike"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
    ]
)
