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
    name: "turnpike-lifecycle",
    platforms: [.macOS(.v15)],
    products: [.library(name: "TurnpikeLifecycle", targets: ["TurnpikeLifecycle"])],
    dependencies: [
        .package(name: "turnpike", path: "../../.."),
        // Only the tests use swift-log, because a service group needs a logger.
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(
            url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "TurnpikeLifecycle",
            dependencies: [
                .product(name: "TurnpikeEssentials", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TurnpikeLifecycleTests",
            dependencies: [
                "TurnpikeLifecycle",
                .product(name: "TurnpikeTesting", package: "turnpike"),
                .product(name: "TurnpikeTraffic", package: "turnpike"),
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeCache", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
    ]
)
