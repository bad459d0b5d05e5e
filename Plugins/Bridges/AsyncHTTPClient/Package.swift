// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "turnpike-async-http-client",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "TurnpikeAsyncHTTPClient", targets: ["TurnpikeAsyncHTTPClient"]),
        .executable(name: "turnpike-ahc", targets: ["turnpike-ahc"]),
    ],
    dependencies: [
        .package(name: "turnpike", path: "../../.."),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        // The packages below async-http-client, for their errors and buffers.
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.35.0"),
    ],
    targets: [
        .target(
            name: "TurnpikeAsyncHTTPClient",
            dependencies: [
                .product(name: "TurnpikeEssentials", package: "turnpike"),
                .product(name: "TurnpikeStackFiles", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
            ],
            swiftSettings: settings),
        // The command `turnpike` for stack files with this transport.
        .executableTarget(
            name: "turnpike-ahc",
            dependencies: [
                "TurnpikeAsyncHTTPClient",
                .product(name: "TurnpikeCommandLine", package: "turnpike"),
            ],
            path: "Sources/Program", swiftSettings: settings),
        // The tests are compiled like the code of a user.
        .testTarget(
            name: "TurnpikeAsyncHTTPClientTests",
            dependencies: [
                "TurnpikeAsyncHTTPClient",
                .product(name: "Turnpike", package: "turnpike"),
                .product(name: "TurnpikeStackFiles", package: "turnpike"),
                .product(name: "TurnpikeSupport", package: "turnpike"),
                .product(name: "TurnpikeTesting", package: "turnpike"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
            ]),
    ]
)
