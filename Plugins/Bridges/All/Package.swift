// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// All bridges and Examples/Service as one package with symbolic links. One build compiles each
// library once, and one run tests all bridges (scripts/bridges). This manifest repeats the
// dependencies of the bridges' own manifests.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

func turnpike(_ names: String...) -> [Target.Dependency] {
    names.map { .product(name: $0, package: "turnpike") }
}

func products(_ names: String..., of package: String) -> [Target.Dependency] {
    names.map { .product(name: $0, package: package) }
}

/// The module of a bridge and its tests.
///
/// The test target also has the dependencies of the module.
func bridge(
    _ folder: String, over face: String = "TurnpikeEssentials",
    on dependencies: [Target.Dependency],
    tests: [Target.Dependency], settings: [SwiftSetting] = settings,
    testSettings: [SwiftSetting]? = nil
) -> [Target] {
    let name = "Turnpike\(folder)"
    return [
        .target(
            name: name,
            dependencies: turnpike(face, "TurnpikeStackFiles", "TurnpikeSupport") + dependencies,
            path: "\(folder)/Sources/\(name)", swiftSettings: settings),
        .testTarget(
            name: "\(name)Tests",
            dependencies: [.byName(name: name)]
                + turnpike("Turnpike", "TurnpikeStackFiles", "TurnpikeSupport", "TurnpikeTesting")
                + dependencies + tests,
            path: "\(folder)/Tests/\(name)Tests", swiftSettings: testSettings ?? settings),
    ]
}

let libraries: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

// The code is compiled like the code of a user.
let user: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let targets =
    bridge(
        "Logging", on: products("Logging", of: "swift-log"),
        tests: products("InMemoryLogging", of: "swift-log"))
    + bridge(
        "Metrics", on: products("CoreMetrics", of: "swift-metrics"),
        tests: products("MetricsTestKit", of: "swift-metrics") + turnpike("TurnpikeTraffic"))
    + bridge(
        "Tracing", on: products("Tracing", of: "swift-distributed-tracing"),
        tests: products("InMemoryTracing", of: "swift-distributed-tracing")
            + turnpike("TurnpikeCache", "TurnpikeInspection", "TurnpikeTraffic"))
    + bridge(
        "Lifecycle", on: products("ServiceLifecycle", of: "swift-service-lifecycle"),
        tests: products("ServiceLifecycleTestKit", of: "swift-service-lifecycle")
            + products("Logging", of: "swift-log") + turnpike("TurnpikeTraffic"))
    + bridge(
        "Configuration", over: "Turnpike",
        on: products("Configuration", of: "swift-configuration"),
        tests: turnpike(
            "TurnpikeAuthenticationStackFiles", "TurnpikeSharedStateStackFiles",
            "TurnpikeTrafficStackFiles"))
    + bridge(
        "HTTPTypes", on: products("HTTPTypes", of: "swift-http-types"),
        tests: turnpike("TurnpikeCurl"))
    + bridge(
        "AsyncHTTPClient",
        on: products("AsyncHTTPClient", of: "async-http-client")
            + products("NIOCore", "NIOPosix", "NIOHTTP1", of: "swift-nio")
            + products("NIOSSL", of: "swift-nio-ssl") + products("NIOHTTP2", of: "swift-nio-http2")
            + products("NIOHTTPCompression", of: "swift-nio-extras"),
        tests: [], settings: libraries, testSettings: user)
    + [
        .executableTarget(
            name: "turnpike-ahc",
            dependencies: ["TurnpikeAsyncHTTPClient"] + turnpike("TurnpikeCommandLine"),
            path: "AsyncHTTPClient/Sources/Program", swiftSettings: libraries),
        .executableTarget(
            name: "CityService",
            dependencies: [
                "TurnpikeConfiguration", "TurnpikeHTTPTypes", "TurnpikeLifecycle",
                "TurnpikeLogging", "TurnpikeMetrics", "TurnpikeTracing",
            ]
                + turnpike(
                    "Turnpike", "TurnpikeAuthenticationStackFiles", "TurnpikeCacheStackFiles",
                    "TurnpikeCurlStackFiles", "TurnpikeInspection", "TurnpikeStackFiles",
                    "TurnpikeTraffic", "TurnpikeTrafficStackFiles")
                + products("Configuration", of: "swift-configuration")
                + products("Hummingbird", of: "hummingbird") + products("NIOCore", of: "swift-nio")
                + products("InMemoryTracing", "Tracing", of: "swift-distributed-tracing")
                + products("Logging", of: "swift-log") + products("Metrics", of: "swift-metrics")
                + products("ServiceLifecycle", "UnixSignals", of: "swift-service-lifecycle"),
            path: "Service/Sources/CityService", swiftSettings: user),
        .target(name: "CSpawn", path: "Service/Tests/ChildProcess/CSpawn"),
        .target(
            name: "ChildProcess", dependencies: ["CSpawn"], path: "Service/Tests/ChildProcess",
            exclude: ["CSpawn"], swiftSettings: user),
        .testTarget(
            name: "CityServiceTests",
            dependencies: ["ChildProcess", "CityService"] + turnpike("Turnpike", "TurnpikeCurl"),
            path: "Service/Tests/CityServiceTests", swiftSettings: user),
    ]

let package = Package(
    name: "turnpike-bridges",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "turnpike", path: "../../.."),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
        .package(
            url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(
            url: "https://github.com/apple/swift-configuration.git", from: "1.4.0",
            traits: [.defaults, "Reloading"]),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.35.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0"),
    ],
    targets: targets
)
