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
    name: "turnpike-configuration",
    platforms: [.macOS(.v15)],
    products: [.library(name: "TurnpikeConfiguration", targets: ["TurnpikeConfiguration"])],
    dependencies: [
        .package(name: "turnpike", path: "../../.."),
        // The trait `Reloading` adds the provider that watches a file.
        .package(
            url: "https://github.com/apple/swift-configuration.git", from: "1.4.0",
            traits: [.defaults, "Reloading"]),
    ],
    targets: [
        .target(
            name: "TurnpikeConfiguration",
            dependencies: [
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeStackFiles", package: "turnpike"),
                .product(name: "Configuration", package: "swift-configuration"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TurnpikeConfigurationTests",
            dependencies: [
                "TurnpikeConfiguration",
                .product(name: "TurnpikeAuthenticationStackFiles", package: "turnpike"),
                .product(name: "TurnpikeSharedStateStackFiles", package: "turnpike"),
                .product(name: "TurnpikeStackFiles", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
                .product(name: "TurnpikeTrafficStackFiles", package: "turnpike"),
            ],
            swiftSettings: settings),
    ]
)
