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
    name: "turnpike-metrics",
    platforms: [.macOS(.v15)],
    products: [.library(name: "TurnpikeMetrics", targets: ["TurnpikeMetrics"])],
    dependencies: [
        .package(name: "turnpike", path: "../../.."),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "TurnpikeMetrics",
            dependencies: [
                .product(name: "TurnpikeEssentials", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TurnpikeMetricsTests",
            dependencies: [
                "TurnpikeMetrics",
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
                .product(name: "TurnpikeTraffic", package: "turnpike"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: settings),
    ]
)
