// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

/// Content that ends with its connection, which anyone between can cut.
@Suite("The end of TLS over libcurl", .needs("openssl", if: TLSFiles.shared != nil))
struct CurlTLSEndTests {
    private func client(_ files: TLSFiles, _ servers: TLSServer...) throws -> Client {
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(files.authority)
        configuration.overrides = servers.map { server in
            CurlTransport.HostOverride(
                host: "localhost", port: server.port, addresses: ["127.0.0.1"])
        }
        return Client(transport: try CurlTransport(configuration: configuration), stack: [])
    }

    // The server reads 16 KiB at once, and sends them when it has more.
    private func message(_ field: String) -> (head: Data, content: Data) {
        let head = Data("HTTP/1.1 200 OK\r\n\(field)\r\n".utf8)
        return (head, Data(repeating: 0x78, count: 49_152 - head.count))
    }

    @Test(
        "Content without an end of its own is whole where the server says so, and not where it is cut",
        arguments: ["", "Transfer-Encoding: identity\r\n"], [false, true])
    func end(field: String, isCut: Bool) async throws {
        let files = try #require(TLSFiles.shared)
        let pipe = try PipeFile()
        defer { pipe.remove() }
        let server = try TLSServer(files, "-HTTP", in: pipe.folder)
        defer { server.stop() }
        let client = try client(files, server)
        let (head, content) = message(field)
        pipe.write(head + content)
        let response = try await client.get("https://localhost:\(server.port)/\(pipe.name)")
            .response()
        var got = Data()
        var iterator = response.body.makeAsyncIterator()
        got += try await iterator.next() ?? Data()
        #expect(!got.isEmpty)
        if isCut { server.stop() } else { pipe.close() }
        do {
            while let chunk = try await iterator.next() { got += chunk }
            #expect(!isCut)
            #expect(got == content)
        } catch let error as ClientError {
            #expect(isCut)
            #expect(error.code == .incomplete)
        }
    }

    @Test("The announced end of one connection is none of another")
    func otherEnd() async throws {
        let files = try #require(TLSFiles.shared)
        let pipes = [try PipeFile(), try PipeFile()]
        defer { for pipe in pipes { pipe.remove() } }
        let servers = try pipes.map { try TLSServer(files, "-HTTP", in: $0.folder) }
        defer { for server in servers { server.stop() } }
        let client = try client(files, servers[0], servers[1])
        let (head, content) = message("")
        var responses: [Response] = []
        for (pipe, server) in zip(pipes, servers) {
            pipe.write(head + content)
            responses.append(
                try await client.get("https://localhost:\(server.port)/\(pipe.name)").response())
        }
        // Its first content has come, and waits.
        var cut = responses[1].body.makeAsyncIterator()
        var got = try await cut.next() ?? Data()
        pipes[0].close()
        #expect(try await responses[0].body.collect(upTo: 100_000) == content)
        servers[1].stop()
        let error = await #expect(throws: ClientError.self) {
            while let chunk = try await cut.next() { got += chunk }
        }
        #expect(error?.code == .incomplete)
    }
}

/// A named pipe, which a server reads as a file that grows.
private final class PipeFile {
    let folder: URL
    let name = "content"
    private let handle: FileHandle

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appending(path: name).path
        guard unsafe mkfifo(path, 0o600) == 0 else { throw POSIXError(.EIO) }
        // For both, or it would wait for the reader.
        guard let handle = FileHandle(forUpdatingAtPath: path) else { throw POSIXError(.EIO) }
        self.handle = handle
    }

    func write(_ data: Data) { handle.write(data) }
    func close() { try? handle.close() }

    func remove() {
        close()
        try? FileManager.default.removeItem(at: folder)
    }
}
