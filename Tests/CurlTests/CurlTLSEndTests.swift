import Foundation
import Testing
import Turnpike
import TurnpikeCurl

/// Content that ends with its connection, which anyone between can cut.
@Suite("The end of TLS over libcurl", .enabled(if: TLSFiles.shared != nil, "no openssl command"))
struct CurlTLSEndTests {
    @Test(
        "Content without an end of its own is whole where the server says so, and not where it is cut",
        arguments: ["", "Transfer-Encoding: identity\r\n"], [false, true])
    func end(field: String, isCut: Bool) async throws {
        let files = try #require(TLSFiles.shared)
        let pipe = try PipeFile()
        defer { pipe.remove() }
        let server = try TLSServer(files, "-HTTP", in: pipe.folder)
        defer { server.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(files.authority)
        configuration.overrides = [
            CurlTransport.HostOverride(
                host: "localhost", port: server.port, addresses: ["127.0.0.1"])
        ]
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: [])
        let head = Data("HTTP/1.1 200 OK\r\n\(field)\r\n".utf8)
        // The server reads 16 KiB at once, and sends them when it has more.
        let content = Data(repeating: 0x78, count: 49_152 - head.count)
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
