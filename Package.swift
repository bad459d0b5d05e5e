// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .strictMemorySafety(),
]

// What a program with the trait LinkedLibcurl is built with.
let linked = BuildSettingCondition.when(platforms: [.linux], traits: ["LinkedLibcurl"])

let package = Package(
    name: "turnpike",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(
            name: "Turnpike",
            targets: [
                "Turnpike", "TurnpikeCore", "TurnpikeEssentials", "TurnpikeMiddleware",
                "TurnpikeSerializers", "TurnpikeURLSession",
            ]),
        // The same without URLSession, for programs with another transport: they do not link
        // FoundationNetworking.
        .library(
            name: "TurnpikeEssentials",
            targets: [
                "TurnpikeCore", "TurnpikeEssentials", "TurnpikeMiddleware", "TurnpikeSerializers",
            ]),
        .library(name: "TurnpikeSupport", targets: ["TurnpikeSupport"]),
        .library(name: "TurnpikeStackFiles", targets: ["TurnpikeStackFiles"]),
        .library(name: "TurnpikeInspection", targets: ["TurnpikeInspection"]),
        .library(name: "TurnpikeTesting", targets: ["TurnpikeTesting"]),
        .library(name: "TurnpikeAuthentication", targets: ["TurnpikeAuthentication"]),
        .library(
            name: "TurnpikeAuthenticationStackFiles", targets: ["TurnpikeAuthenticationStackFiles"]),
        .library(name: "TurnpikeCurl", targets: ["TurnpikeCurl"]),
        .library(name: "TurnpikeCurlStackFiles", targets: ["TurnpikeCurlStackFiles"]),
        .library(name: "TurnpikeCache", targets: ["TurnpikeCache"]),
        .library(name: "TurnpikeCacheStackFiles", targets: ["TurnpikeCacheStackFiles"]),
        .library(name: "TurnpikeDownloads", targets: ["TurnpikeDownloads"]),
        .library(name: "TurnpikeEndpoints", targets: ["TurnpikeEndpoints"]),
        .library(name: "TurnpikeEndpointsStackFiles", targets: ["TurnpikeEndpointsStackFiles"]),
        .library(name: "TurnpikeSharedState", targets: ["TurnpikeSharedState"]),
        .library(name: "TurnpikeSharedStateStackFiles", targets: ["TurnpikeSharedStateStackFiles"]),
        .library(name: "TurnpikeTraffic", targets: ["TurnpikeTraffic"]),
        .library(name: "TurnpikeTrafficStackFiles", targets: ["TurnpikeTrafficStackFiles"]),
        .library(name: "TurnpikeXML", targets: ["TurnpikeXML"]),
        .library(name: "TurnpikeReachability", targets: ["TurnpikeReachability"]),
        .library(name: "TurnpikeResumableUploads", targets: ["TurnpikeResumableUploads"]),
        .library(name: "TurnpikeWebSocket", targets: ["TurnpikeWebSocket"]),
        .library(name: "TurnpikeValkey", targets: ["TurnpikeValkey"]),
        .library(name: "TurnpikeValkeyCache", targets: ["TurnpikeValkeyCache"]),
        .library(name: "TurnpikeValkeyStackFiles", targets: ["TurnpikeValkeyStackFiles"]),
        .library(name: "TurnpikeCommandLine", targets: ["TurnpikeCommandLine"]),
        .executable(name: "turnpike", targets: ["TurnpikeProgram"]),
    ],
    traits: [
        .trait(
            name: "LinkedLibcurl",
            description: "Links libcurl and OpenSSL on Linux; otherwise libcurl is loaded.")
    ],
    targets: [
        // What authors of gates, transports and serializers build with; `import Turnpike` does not show it.
        .target(name: "TurnpikeSupport", path: "Sources/Support", swiftSettings: settings),
        // Finds secrets in text, and knows no messages. Its interface is `package`, and only Core imports it.
        .target(
            name: "TurnpikeRedaction", dependencies: ["TurnpikeSupport"],
            path: "Sources/Redaction", swiftSettings: settings),
        .target(
            name: "TurnpikeCore", dependencies: ["TurnpikeRedaction", "TurnpikeSupport"],
            path: "Sources/Core", swiftSettings: settings),
        .target(
            name: "TurnpikeMiddleware", dependencies: ["TurnpikeCore", "TurnpikeSupport"],
            path: "Sources/Middleware", packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeSerializers", dependencies: ["TurnpikeCore", "TurnpikeSupport"],
            path: "Sources/Serializers", packageAccess: false, swiftSettings: settings),
        // The default transport, and all that imports FoundationNetworking.
        .target(
            name: "TurnpikeURLSession", dependencies: ["TurnpikeCore", "TurnpikeSupport"],
            path: "Sources/URLSession", packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeEssentials",
            dependencies: ["TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSerializers"],
            path: "Sources/Essentials", packageAccess: false, swiftSettings: settings),
        .target(
            name: "Turnpike",
            dependencies: [
                "TurnpikeCore", "TurnpikeEssentials", "TurnpikeMiddleware", "TurnpikeSerializers",
                "TurnpikeURLSession",
            ],
            path: "Sources/Turnpike", packageAccess: false, swiftSettings: settings),
        // What a stack file says, and what the settings of each gate mean. Each plugin's own are a target in its folder, so that
        // who uses a plugin in code alone builds none of this.
        .target(
            name: "TurnpikeStackFiles",
            dependencies: [
                "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSerializers", "TurnpikeSupport",
                "TurnpikeURLSession",
            ],
            path: "Sources/StackFiles", packageAccess: false, swiftSettings: settings),
        // What checks a stack, explains it, and shows traces; a service that does not import it pays nothing.
        .target(
            name: "TurnpikeInspection",
            dependencies: ["TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSupport"],
            path: "Sources/Inspection", packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeTesting",
            dependencies: [
                "TurnpikeCore", "TurnpikeInspection", "TurnpikeSharedState", "TurnpikeSupport",
                "TurnpikeTraffic", "TurnpikeURLSession",
            ],
            path: "Plugins/Testing", packageAccess: false, swiftSettings: settings),
        .target(
            name: "CTurnpikeCurl", path: "Plugins/Curl/CCurl",
            cSettings: [.define("TPC_LINKED", linked)],
            linkerSettings: [
                .linkedLibrary("dl", .when(platforms: [.linux, .android])),
                .linkedLibrary("curl", linked), .linkedLibrary("ssl", linked),
                .linkedLibrary("crypto", linked),
            ]),
        .target(
            name: "TurnpikeCurl",
            dependencies: [
                "CTurnpikeCurl", "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSupport",
            ],
            path: "Plugins/Curl", exclude: ["CCurl", "README.md", "StackFiles"],
            packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeCurlStackFiles",
            dependencies: [
                "TurnpikeCore", "TurnpikeCurl", "TurnpikeStackFiles", "TurnpikeSupport",
            ],
            path: "Plugins/Curl/StackFiles", packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeAuthentication",
            dependencies: ["TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSupport"],
            path: "Plugins/Authentication", exclude: ["README.md", "StackFiles"],
            packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeAuthenticationStackFiles",
            dependencies: [
                "TurnpikeAuthentication", "TurnpikeCore", "TurnpikeMiddleware",
                "TurnpikeStackFiles", "TurnpikeSupport",
            ],
            path: "Plugins/Authentication/StackFiles", packageAccess: false,
            swiftSettings: settings),
        .target(
            name: "TurnpikeCache",
            dependencies: ["TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSupport"],
            path: "Plugins/Cache", exclude: ["README.md", "StackFiles", "Store/Disk/FORMAT.md"],
            packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeCacheStackFiles",
            dependencies: [
                "TurnpikeCache", "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSharedState",
                "TurnpikeSharedStateStackFiles", "TurnpikeStackFiles", "TurnpikeSupport",
            ],
            path: "Plugins/Cache/StackFiles", packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeDownloads", dependencies: ["TurnpikeCore", "TurnpikeSupport"],
            path: "Plugins/Downloads", exclude: ["README.md"], packageAccess: false,
            swiftSettings: settings),
        .target(
            name: "TurnpikeEndpoints",
            dependencies: [
                "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSupport", "TurnpikeTraffic",
            ],
            path: "Plugins/Endpoints", exclude: ["README.md", "StackFiles"], packageAccess: false,
            swiftSettings: settings),
        .target(
            name: "TurnpikeEndpointsStackFiles",
            dependencies: [
                "TurnpikeCore", "TurnpikeEndpoints", "TurnpikeMiddleware", "TurnpikeStackFiles",
            ],
            path: "Plugins/Endpoints/StackFiles", packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeSharedState",
            dependencies: [
                "TurnpikeAuthentication", "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSupport",
                "TurnpikeTraffic",
            ],
            path: "Plugins/SharedState", exclude: ["README.md", "StackFiles"],
            packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeSharedStateStackFiles",
            dependencies: [
                "TurnpikeAuthentication", "TurnpikeAuthenticationStackFiles", "TurnpikeCore",
                "TurnpikeMiddleware", "TurnpikeSharedState", "TurnpikeStackFiles",
                "TurnpikeTraffic", "TurnpikeTrafficStackFiles",
            ],
            path: "Plugins/SharedState/StackFiles", packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeTraffic",
            dependencies: ["TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSupport"],
            path: "Plugins/Traffic", exclude: ["README.md", "StackFiles"], packageAccess: false,
            swiftSettings: settings),
        .target(
            name: "TurnpikeTrafficStackFiles",
            dependencies: [
                "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeStackFiles", "TurnpikeSupport",
                "TurnpikeTraffic",
            ],
            path: "Plugins/Traffic/StackFiles", packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeXML",
            dependencies: ["TurnpikeCore", "TurnpikeSerializers", "TurnpikeSupport"],
            path: "Plugins/XML", exclude: ["README.md"], packageAccess: false,
            swiftSettings: settings),
        .target(
            name: "TurnpikeReachability", dependencies: ["TurnpikeCore", "TurnpikeSupport"],
            path: "Plugins/Reachability", exclude: ["README.md"], packageAccess: false,
            swiftSettings: settings),
        .target(
            name: "TurnpikeResumableUploads",
            dependencies: ["TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSupport"],
            path: "Plugins/ResumableUploads", exclude: ["README.md"], packageAccess: false,
            swiftSettings: settings),
        .target(
            name: "TurnpikeWebSocket",
            dependencies: [
                "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSerializers", "TurnpikeSupport",
            ],
            path: "Plugins/WebSocket", exclude: ["README.md"], packageAccess: false,
            swiftSettings: settings),
        .target(
            name: "CTurnpikeValkey", path: "Plugins/Valkey/CSockets",
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux, .android]))]),
        .target(
            name: "TurnpikeValkey",
            dependencies: [
                "CTurnpikeValkey", "TurnpikeCore", "TurnpikeSharedState", "TurnpikeSupport",
                "TurnpikeTraffic",
            ],
            path: "Plugins/Valkey", exclude: ["CSockets", "Cache", "README.md", "StackFiles"],
            packageAccess: false, swiftSettings: settings),
        // A store of the cache plugin: a plugin on two others (ARCHITECTURE.md says why).
        .target(
            name: "TurnpikeValkeyCache",
            dependencies: [
                "TurnpikeCache", "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSharedState",
                "TurnpikeSupport", "TurnpikeValkey",
            ],
            path: "Plugins/Valkey/Cache", packageAccess: false, swiftSettings: settings),
        .target(
            name: "TurnpikeValkeyStackFiles",
            dependencies: [
                "TurnpikeCacheStackFiles", "TurnpikeCore", "TurnpikeMiddleware",
                "TurnpikeSharedState", "TurnpikeSharedStateStackFiles", "TurnpikeStackFiles",
                "TurnpikeValkey", "TurnpikeValkeyCache",
            ],
            path: "Plugins/Valkey/StackFiles", packageAccess: false, swiftSettings: settings),
        // The command as a library, so that a program of a few lines can add to what it knows.
        .target(
            name: "TurnpikeCommandLine",
            dependencies: [
                "Turnpike", "TurnpikeAuthenticationStackFiles", "TurnpikeCache", "TurnpikeCore",
                "TurnpikeCurl", "TurnpikeCurlStackFiles", "TurnpikeDownloads",
                "TurnpikeEndpointsStackFiles", "TurnpikeInspection",
                "TurnpikeSharedStateStackFiles", "TurnpikeStackFiles", "TurnpikeSupport",
                "TurnpikeTesting", "TurnpikeTrafficStackFiles", "TurnpikeValkey",
                "TurnpikeValkeyStackFiles", "TurnpikeWebSocket",
            ],
            path: "Plugins/CommandLine", exclude: ["Program"], packageAccess: false,
            swiftSettings: settings),
        .executableTarget(
            name: "TurnpikeProgram", dependencies: ["TurnpikeCommandLine"],
            path: "Plugins/CommandLine/Program", packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "quickstart", dependencies: ["Turnpike", "TurnpikeDownloads", "TurnpikeTesting"],
            path: "Examples/Quickstart", packageAccess: false, swiftSettings: settings),
        // What the studies have in common.
        .target(
            name: "StudySupport", path: "Examples/StudySupport", packageAccess: false,
            swiftSettings: settings),
        .executableTarget(
            name: "outage-study",
            dependencies: [
                "StudySupport", "Turnpike", "TurnpikeCore", "TurnpikeSharedState",
                "TurnpikeTesting", "TurnpikeTraffic",
            ],
            path: "Examples/OutageStudy", exclude: ["README.md", "outage.svg"],
            packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "balance-study",
            dependencies: [
                "StudySupport", "Turnpike", "TurnpikeCore", "TurnpikeEndpoints", "TurnpikeTesting",
            ],
            path: "Examples/BalanceStudy", exclude: ["README.md", "balance.svg"],
            packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "fleet-study",
            dependencies: [
                "StudySupport", "Turnpike", "TurnpikeCore", "TurnpikeSharedState",
                "TurnpikeTesting", "TurnpikeTraffic",
            ],
            path: "Examples/FleetStudy", exclude: ["README.md", "fleet.svg"],
            packageAccess: false, swiftSettings: settings),
        // What several test targets have in common.
        .target(
            name: "TestSupport",
            dependencies: [
                "CTestEnvironment", "ChildProcess", "TurnpikeAuthentication", "TurnpikeCore",
                "TurnpikeMiddleware", "TurnpikeSupport", "TurnpikeTesting",
            ],
            path: "Tests/Support", exclude: ["Environment"], swiftSettings: settings),
        // What is set before the tests begin.
        .target(name: "CTestEnvironment", path: "Tests/Support/Environment"),
        .target(name: "CSpawn", path: "Tests/ChildProcess/CSpawn"),
        .target(
            name: "ChildProcess", dependencies: ["CSpawn"], path: "Tests/ChildProcess",
            exclude: ["CSpawn"], swiftSettings: settings),
        .testTarget(
            name: "SupportTests",
            dependencies: ["TestSupport", "TurnpikeCore", "TurnpikeSupport", "TurnpikeTesting"],
            path: "Tests/SupportTests", swiftSettings: settings),
        .testTarget(
            name: "CoreTests",
            dependencies: [
                "TestSupport", "TurnpikeCore", "TurnpikeInspection", "TurnpikeRedaction",
                "TurnpikeSupport", "TurnpikeTesting",
            ],
            path: "Tests/CoreTests", swiftSettings: settings),
        .testTarget(
            name: "URLSessionTests",
            dependencies: ["TurnpikeCore", "TurnpikeTesting", "TurnpikeURLSession"],
            path: "Tests/URLSessionTests", swiftSettings: settings),
        .testTarget(
            name: "MiddlewareTests",
            dependencies: [
                "ChildProcess", "TestSupport", "TurnpikeAuthentication", "TurnpikeCache",
                "TurnpikeCore", "TurnpikeInspection", "TurnpikeMiddleware", "TurnpikeSharedState",
                "TurnpikeStackFiles", "TurnpikeSupport", "TurnpikeTesting", "TurnpikeTraffic",
            ],
            path: "Tests/MiddlewareTests", swiftSettings: settings),
        .testTarget(
            name: "SharedStateTests",
            dependencies: [
                "ChildProcess", "TestSupport", "TurnpikeAuthentication", "TurnpikeCore",
                "TurnpikeMiddleware", "TurnpikeSharedState", "TurnpikeSupport", "TurnpikeTesting",
                "TurnpikeTraffic",
            ],
            path: "Tests/SharedStateTests", swiftSettings: settings),
        .testTarget(
            name: "StackFilesTests",
            dependencies: [
                "TestSupport", "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSharedState",
                "TurnpikeSharedStateStackFiles", "TurnpikeStackFiles", "TurnpikeSupport",
                "TurnpikeTesting", "TurnpikeTraffic", "TurnpikeTrafficStackFiles",
            ],
            path: "Tests/StackFilesTests", swiftSettings: settings),
        .testTarget(
            name: "EndpointsTests",
            dependencies: [
                "TestSupport", "TurnpikeAuthentication", "TurnpikeCore", "TurnpikeEndpoints",
                "TurnpikeEndpointsStackFiles", "TurnpikeInspection", "TurnpikeMiddleware",
                "TurnpikeStackFiles", "TurnpikeSupport", "TurnpikeTesting", "TurnpikeTraffic",
            ],
            path: "Tests/EndpointsTests", swiftSettings: settings),
        .testTarget(
            name: "AuthenticationTests",
            dependencies: [
                "TestSupport", "TurnpikeAuthentication", "TurnpikeAuthenticationStackFiles",
                "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeStackFiles", "TurnpikeSupport",
                "TurnpikeTesting",
            ],
            path: "Tests/AuthenticationTests", swiftSettings: settings),
        .testTarget(
            name: "TrafficTests",
            dependencies: [
                "TestSupport", "TurnpikeAuthentication", "TurnpikeCore", "TurnpikeInspection",
                "TurnpikeMiddleware", "TurnpikeStackFiles", "TurnpikeSupport", "TurnpikeTesting",
                "TurnpikeTraffic", "TurnpikeTrafficStackFiles",
            ],
            path: "Tests/TrafficTests", swiftSettings: settings),
        .testTarget(
            name: "InspectionTests",
            dependencies: [
                "TestSupport", "Turnpike", "TurnpikeAuthentication", "TurnpikeCache",
                "TurnpikeCore", "TurnpikeEndpoints", "TurnpikeInspection", "TurnpikeMiddleware",
                "TurnpikeSharedState", "TurnpikeSupport", "TurnpikeTesting", "TurnpikeTraffic",
            ],
            path: "Tests/InspectionTests", swiftSettings: settings),
        .testTarget(
            name: "SerializersTests",
            dependencies: [
                "TestSupport", "TurnpikeCore", "TurnpikeSerializers", "TurnpikeSupport",
                "TurnpikeTesting",
            ],
            path: "Tests/SerializersTests", swiftSettings: settings),
        .testTarget(
            name: "DownloadsTests",
            dependencies: [
                "TestSupport", "TurnpikeCore", "TurnpikeDownloads", "TurnpikeSupport",
                "TurnpikeTesting",
            ],
            path: "Tests/DownloadsTests", swiftSettings: settings),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "ChildProcess", "TestSupport", "Turnpike", "TurnpikeCache", "TurnpikeCommandLine",
                "TurnpikeCore", "TurnpikeInspection", "TurnpikeSharedStateStackFiles",
                "TurnpikeStackFiles", "TurnpikeTesting", "TurnpikeTraffic",
            ],
            path: "Tests/CommandLineTests", swiftSettings: settings),
        .testTarget(
            name: "CacheTests",
            dependencies: [
                "TestSupport", "TurnpikeAuthentication", "TurnpikeCache", "TurnpikeCacheStackFiles",
                "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSerializers", "TurnpikeSharedState",
                "TurnpikeSharedStateStackFiles", "TurnpikeStackFiles", "TurnpikeSupport",
                "TurnpikeTesting",
            ],
            path: "Tests/CacheTests", swiftSettings: settings),
        .testTarget(
            name: "XMLTests",
            dependencies: [
                "TurnpikeCore", "TurnpikeMiddleware", "TurnpikeSerializers", "TurnpikeTesting",
                "TurnpikeXML",
            ],
            path: "Tests/XMLTests", swiftSettings: settings),
        .testTarget(
            name: "ReachabilityTests",
            dependencies: [
                "ChildProcess", "TestSupport", "TurnpikeCore", "TurnpikeReachability",
                "TurnpikeTesting",
            ],
            path: "Tests/ReachabilityTests", swiftSettings: settings),
        .testTarget(
            name: "ResumableUploadsTests",
            dependencies: [
                "ChildProcess", "TestSupport", "TurnpikeAuthentication", "TurnpikeCore",
                "TurnpikeCurl", "TurnpikeMiddleware", "TurnpikeResumableUploads",
                "TurnpikeSerializers", "TurnpikeSupport", "TurnpikeTesting", "TurnpikeURLSession",
            ],
            path: "Tests/ResumableUploadsTests", swiftSettings: settings),
        .testTarget(
            name: "WebSocketTests",
            dependencies: [
                "ChildProcess", "TestSupport", "TurnpikeCore", "TurnpikeCurl",
                "TurnpikeInspection", "TurnpikeMiddleware", "TurnpikeSerializers",
                "TurnpikeSupport", "TurnpikeTesting", "TurnpikeWebSocket",
            ],
            path: "Tests/WebSocketTests", swiftSettings: settings),
        .testTarget(
            name: "TestingTests",
            dependencies: [
                "TestSupport", "Turnpike", "TurnpikeCore", "TurnpikeInspection",
                "TurnpikeRedaction", "TurnpikeSharedState", "TurnpikeSupport", "TurnpikeTesting",
                "TurnpikeTraffic",
            ],
            path: "Tests/TestingTests", swiftSettings: settings),
        // What reading the worst inputs costs, for each parser of all modules.
        .testTarget(
            name: "CostTests",
            dependencies: [
                "TestSupport", "TurnpikeAuthentication", "TurnpikeCache", "TurnpikeCommandLine",
                "TurnpikeCore", "TurnpikeCurl", "TurnpikeDownloads", "TurnpikeMiddleware",
                "TurnpikeResumableUploads", "TurnpikeSerializers", "TurnpikeStackFiles",
                "TurnpikeSupport", "TurnpikeTesting", "TurnpikeTraffic", "TurnpikeURLSession",
                "TurnpikeXML",
            ],
            path: "Tests/CostTests", swiftSettings: settings),
        .testTarget(
            name: "StudySupportTests", dependencies: ["StudySupport"],
            path: "Tests/StudySupportTests", swiftSettings: settings),
        .testTarget(
            name: "OutageStudyTests",
            dependencies: ["TestSupport", "TurnpikeCore", "outage-study"],
            path: "Tests/OutageStudyTests", swiftSettings: settings),
        .testTarget(
            name: "BalanceStudyTests",
            dependencies: ["TestSupport", "TurnpikeCore", "balance-study"],
            path: "Tests/BalanceStudyTests", swiftSettings: settings),
        .testTarget(
            name: "FleetStudyTests", dependencies: ["TurnpikeCore", "fleet-study"],
            path: "Tests/FleetStudyTests", swiftSettings: settings),
        .testTarget(
            name: "CurlTests",
            dependencies: [
                "CTurnpikeCurl", "ChildProcess", "TestSupport", "Turnpike", "TurnpikeCurl",
                "TurnpikeCurlStackFiles",
                "TurnpikeEndpoints", "TurnpikeStackFiles", "TurnpikeSupport", "TurnpikeTesting",
                "TurnpikeTraffic", "TurnpikeWebSocket",
            ],
            path: "Tests/CurlTests", swiftSettings: settings),
        .testTarget(
            name: "ValkeyTests",
            dependencies: [
                "ChildProcess", "TestSupport", "Turnpike", "TurnpikeMiddleware",
                "TurnpikeSharedState", "TurnpikeSharedStateStackFiles", "TurnpikeStackFiles",
                "TurnpikeSupport", "TurnpikeTesting", "TurnpikeTraffic",
                "TurnpikeTrafficStackFiles", "TurnpikeValkey", "TurnpikeValkeyCache",
                "TurnpikeValkeyStackFiles",
            ],
            path: "Tests/ValkeyTests", swiftSettings: settings),
        .testTarget(
            name: "ValkeyCacheTests",
            dependencies: [
                "TestSupport", "Turnpike", "TurnpikeCache", "TurnpikeMiddleware",
                "TurnpikeSharedState", "TurnpikeSharedStateStackFiles", "TurnpikeStackFiles",
                "TurnpikeSupport", "TurnpikeTesting", "TurnpikeValkey", "TurnpikeValkeyCache",
                "TurnpikeValkeyStackFiles",
            ],
            path: "Tests/ValkeyCacheTests", swiftSettings: settings),
        // Compiled like the code of a user: `public` access only, and no upcoming features.
        .testTarget(
            name: "TurnpikeTests",
            dependencies: [
                "Turnpike", "TurnpikeAuthentication", "TurnpikeAuthenticationStackFiles",
                "TurnpikeCache", "TurnpikeCacheStackFiles", "TurnpikeDownloads",
                "TurnpikeEndpoints", "TurnpikeInspection", "TurnpikeResumableUploads",
                "TurnpikeSharedState", "TurnpikeSharedStateStackFiles", "TurnpikeStackFiles",
                "TurnpikeSupport", "TurnpikeTesting", "TurnpikeTraffic",
                "TurnpikeTrafficStackFiles", "TurnpikeXML",
            ],
            path: "Tests/TurnpikeTests", exclude: ["Cookbook/Recordings"], packageAccess: false),
        // Compiled like an app whose declarations belong to the main actor (SE-0466).
        .testTarget(
            name: "MainActorTests",
            dependencies: ["Turnpike", "TurnpikeDownloads", "TurnpikeTesting"],
            path: "Tests/MainActorTests", packageAccess: false,
            swiftSettings: [
                .defaultIsolation(MainActor.self),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .enableUpcomingFeature("InferIsolatedConformances"),
            ]),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "ChildProcess", "TestSupport", "Turnpike", "TurnpikeAuthenticationStackFiles",
                "TurnpikeCache", "TurnpikeCurl", "TurnpikeDownloads", "TurnpikeEndpoints",
                "TurnpikeStackFiles", "TurnpikeTesting",
            ],
            path: "Tests/IntegrationTests", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-storm", dependencies: ["Turnpike", "TurnpikeCurl", "TurnpikeTesting"],
            path: "Tests/Programs/Storm", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-crash",
            dependencies: ["ChildProcess", "TurnpikeCache", "TurnpikeCore"],
            path: "Tests/Programs/Crash", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-flood",
            dependencies: [
                "ChildProcess", "Turnpike", "TurnpikeCurl", "TurnpikeDownloads", "TurnpikeTesting",
            ],
            path: "Tests/Programs/Flood", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-resume",
            dependencies: [
                "ChildProcess", "Turnpike", "TurnpikeCurl", "TurnpikeDownloads",
                "TurnpikeResumableUploads", "TurnpikeSupport", "TurnpikeTesting",
            ],
            path: "Tests/Programs/Resume", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-exit", dependencies: ["Turnpike", "TurnpikeTesting"],
            path: "Tests/Programs/Exit", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-fleet",
            dependencies: [
                "Turnpike", "TurnpikeCurl", "TurnpikeMiddleware", "TurnpikeSharedState",
                "TurnpikeValkey",
            ],
            path: "Tests/Programs/Fleet", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-paths", dependencies: ["TurnpikeReachability"],
            path: "Tests/Programs/Paths", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-fuzz",
            dependencies: ["ChildProcess", "Turnpike", "TurnpikeCurl", "TurnpikeTesting"],
            path: "Tests/Programs/Fuzz", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-fault", dependencies: ["Turnpike", "TurnpikeTesting"],
            path: "Tests/Programs/Fault", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-descriptors",
            dependencies: [
                "Turnpike", "TurnpikeCache", "TurnpikeCore", "TurnpikeCurl", "TurnpikeDownloads",
                "TurnpikeReachability", "TurnpikeSupport", "TurnpikeTesting",
            ],
            path: "Tests/Programs/Descriptors", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-traces",
            dependencies: [
                "Turnpike", "TurnpikeCurl", "TurnpikeInspection", "TurnpikeTesting",
                "TurnpikeTraffic",
            ],
            path: "Tests/Programs/Traces", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-sockets",
            dependencies: [
                "ChildProcess", "Turnpike", "TurnpikeCurl", "TurnpikeTesting", "TurnpikeWebSocket",
            ],
            path: "Tests/Programs/Sockets", swiftSettings: settings),
        .executableTarget(
            name: "turnpike-endurance",
            dependencies: [
                "ChildProcess", "Turnpike", "TurnpikeCurl", "TurnpikeCurlStackFiles",
                "TurnpikeStackFiles", "TurnpikeTesting",
            ],
            path: "Tests/Programs/Endurance", swiftSettings: settings),
    ]
)
