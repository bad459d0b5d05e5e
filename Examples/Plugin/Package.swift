// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let package = Package(
    name: "turnpike-regions",
    platforms: [.macOS(.v15)],
    products: [.library(name: "TurnpikeRegions", targets: ["TurnpikeRegions"])],
    dependencies: [.package(name: "turnpike", path: "../..")],
    targets: [
        .target(
            name: "TurnpikeRegions",
            dependencies: [
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeStackFiles", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
            ],
            path: "Sources/Regions"),
        .testTarget(
            name: "RegionsTests",
            dependencies: [
                "TurnpikeRegions",
                .product(name: "TurnpikeStackFiles", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
            ],
            path: "Tests/RegionsTests"),
    ]
)
