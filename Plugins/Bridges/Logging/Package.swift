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
    name: "turnpike-logging",
    platforms: [.macOS(.v15)],
    products: [.library(name: "TurnpikeLogging", targets: ["TurnpikeLogging"])],
    dependencies: [
        .package(name: "turnpike", path: "../../.."),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
    ],
    targets: [
        .target(
            name: "TurnpikeLogging",
            dependencies: [
                .product(name: "TurnpikeEssentials", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TurnpikeLoggingTests",
            dependencies: [
                "TurnpikeLogging",
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: settings),
    ]
)
