// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "turnpike-tracing",
    platforms: [.macOS(.v15)],
    products: [.library(name: "TurnpikeTracing", targets: ["TurnpikeTracing"])],
    dependencies: [
        .package(name: "turnpike", path: "../../.."),
        // This package also contains the module of ServiceContext.
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
    ],
    targets: [
        .target(
            name: "TurnpikeTracing",
            dependencies: [
                .product(name: "TurnpikeEssentials", package: "turnpike"),
                .product(name: "TurnpikeStackFiles", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TurnpikeTracingTests",
            dependencies: [
                "TurnpikeTracing",
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeStackFiles", package: "turnpike"),
                .product(name: "TurnpikeCache", package: "turnpike"),
                .product(name: "TurnpikeInspection", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
                .product(name: "TurnpikeTraffic", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings),
    ]
)
