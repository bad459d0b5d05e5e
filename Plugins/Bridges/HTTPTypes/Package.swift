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
    name: "turnpike-http-types",
    platforms: [.macOS(.v15)],
    products: [.library(name: "TurnpikeHTTPTypes", targets: ["TurnpikeHTTPTypes"])],
    dependencies: [
        .package(name: "turnpike", path: "../../.."),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
    ],
    targets: [
        .target(
            name: "TurnpikeHTTPTypes",
            dependencies: [
                .product(name: "TurnpikeEssentials", package: "turnpike"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "TurnpikeHTTPTypesTests",
            dependencies: [
                "TurnpikeHTTPTypes",
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeCurl", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
            ],
            swiftSettings: settings),
    ]
)
