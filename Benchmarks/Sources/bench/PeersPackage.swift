import Foundation

/// The comparison with other clients: a package of its own (`Benchmarks/Peers`), built when it is
/// asked for.
enum PeersPackage {
    static func run(_ arguments: [String]) throws {
        var folder = URL(filePath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        let package = folder.appending(path: "Peers").path(percentEncoded: false)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["swift", "run", "-c", "release", "--package-path", package, "peers"] + arguments
        try process.run()
        process.waitUntilExit()
        exit(process.terminationStatus)
    }
}
