import Foundation
import TurnpikeTesting

/// This program once more, as another process.
final class Child {
    private let process = Process()
    // What it is given ends with this process, however that ends.
    private let input = Pipe()
    private let standardOutput = Pipe()

    init(_ arguments: [String]) throws {
        process.executableURL = Bundle.main.executableURL
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = standardOutput
        try process.run()
    }

    func firstOutput() -> Data { standardOutput.fileHandleForReading.availableData }

    /// What it wrote, once it has ended well.
    func output() throws -> Data {
        let data = try standardOutput.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw EnduranceFailure("a run failed") }
        return data
    }

    func end() {
        // A signal that can be blocked may be: children inherit that.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// The server, in a process of its own.
struct EnduranceServer {
    let url: String
    private let child: Child

    init() throws {
        child = try Child(["--serve"])
        let line = String(decoding: child.firstOutput(), as: UTF8.self)
        url = line.trimmingCharacters(in: .newlines)
        guard url.hasPrefix("http") else { throw EnduranceFailure("the server did not start") }
    }

    func end() { child.end() }

    /// Prints the address and serves until standard input ends.
    static func serve() throws {
        let server = try TestServer(keepsRecord: false)
        server.fallback(.data(Data(count: 1000)))
        let url = server.url.absoluteString + "a/path/of/some/length?with=a&query=too\n"
        FileHandle.standardOutput.write(Data(url.utf8))
        while readLine() != nil {}
        server.stop()
    }
}
