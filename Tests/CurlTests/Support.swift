import Foundation
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// A server, and a client without gates over libcurl.
struct CurlFixture {
    let server: TestServer
    let client: Client

    init(
        stack: Stack = [], _ configure: (inout CurlTransport.Configuration) -> Void = { _ in }
    ) throws {
        server = try TestServer()
        var configuration = CurlTransport.Configuration()
        configure(&configuration)
        client = Client(
            baseURL: server.target, transport: try CurlTransport(configuration: configuration),
            stack: stack)
    }
}

extension RequestBody {
    /// A body of one kind with given content; `file` must be removed by the caller.
    static func of(_ kind: String, _ content: Data, file: URL) throws -> RequestBody {
        switch kind {
        case "data": return .data(content)
        case "file":
            try content.write(to: file)
            return .file(file)
        case "known":
            return .stream(length: Int64(content.count), replayable: true) { Pieces(content) }
        case "live": return .stream(replayable: true, live: true) { Pieces(content) }
        default: return .stream(replayable: true) { Pieces(content) }
        }
    }
}

/// Content in pieces of 50,000 bytes.
struct Pieces: AsyncSequence, AsyncIteratorProtocol {
    private var rest: Data

    init(_ content: Data) { rest = content }

    func makeAsyncIterator() -> Self { self }

    mutating func next() async -> Data? {
        if rest.isEmpty { return nil }
        defer { rest = Data(rest.dropFirst(50_000)) }
        return Data(rest.prefix(50_000))
    }
}

/// Runs a command to its end.
/// - Returns: What it printed; nil where it failed, or is not there.
func output(of command: String, _ arguments: String...) -> Data? {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [command] + arguments
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? data : nil
}
