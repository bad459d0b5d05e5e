// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// Separate from the other benchmarks, because AsyncHTTPClient takes minutes to build.
let package = Package(
    name: "peers",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "peers", targets: ["peers"])],
    dependencies: [
        .package(name: "turnpike", path: "../.."),
        .package(url: "https://github.com/swift-server/async-http-client.git", exact: "1.37.0"),
    ],
    targets: [
        // The launcher from the tests, by a symbolic link.
        .target(name: "CSpawn", path: "Sources/ChildProcess/CSpawn"),
        .target(
            name: "ChildProcess", dependencies: ["CSpawn"], path: "Sources/ChildProcess",
            exclude: ["CSpawn"], swiftSettings: [.swiftLanguageMode(.v6)]),
        .target(name: "CurlLoop"),
        .executableTarget(
            name: "peers",
            dependencies: [
                "ChildProcess", "CurlLoop",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeCurl", package: "turnpike"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        ),
    ]
)
