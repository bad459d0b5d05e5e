import Foundation

/// The comparison with other clients: a package of its own (`Benchmarks/Peers`), built when it is
/// asked for.
enum PeersPackage {
    /// Goes on as that package's program, so that signals and the exit status are its own.
    static func run(_ arguments: [String]) throws -> Never {
        var folder = URL(filePath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        let package = folder.appending(path: "Peers").path(percentEncoded: false)
        let words =
            ["swift", "run", "-c", "release", "--package-path", package, "peers"] + arguments
        // This thread is none that signals are sent to; the other program has but this one.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        var pointers = words.map { strdup($0) }
        pointers.append(nil)
        execvp("swift", &pointers)
        throw BenchError("swift cannot be started: " + String(cString: strerror(errno)))
    }
}
