// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A benchmark in its own package, because it needs other packages.
///
/// It is built on demand.
enum NestedPackage: String {
    /// The comparison with other clients (`Benchmarks/Peers`).
    case peers = "Peers"
    /// The cost of the bridges (`Benchmarks/Bridges`).
    case bridges = "Bridges"

    /// Replaces this process by the program of the package.
    ///
    /// So the program receives the signals, and its exit status is returned.
    func run(_ arguments: [String]) throws -> Never {
        var folder = URL(filePath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        let package = folder.appending(path: rawValue).path(percentEncoded: false)
        let words =
            ["swift", "run", "-c", "release", "--package-path", package, rawValue.lowercased()]
            + arguments
        // This thread blocks all signals, but becomes the only thread of the other program.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        var pointers = words.map { strdup($0) }
        pointers.append(nil)
        execvp("swift", &pointers)
        throw BenchError("swift cannot be started: " + String(cString: strerror(errno)))
    }
}
