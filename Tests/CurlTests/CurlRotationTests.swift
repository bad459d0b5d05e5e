// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

/// Files of the trust that are replaced while the transport lives.
@Suite(
    "Files of the trust that are replaced",
    .needs("openssl", if: TLSFiles.shared != nil))
struct CurlRotationTests {
    private let files: TLSFiles
    private let folder: URL

    init() throws {
        files = try #require(TLSFiles.shared)
        folder = FileManager.default.temporaryDirectory.appending(
            path: "turnpike-rotation-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let authority = (files.authority as NSString).deletingLastPathComponent
        let script = """
            set -e; cd '\(folder.path())'
            for name in client-one client-two; do
                openssl req -newkey rsa:2048 -nodes -keyout $name.key -out $name.csr -subj /CN=$name
                openssl x509 -req -in $name.csr -CA '\(authority)/ca.pem' -CAkey '\(authority)/ca.key' \
                    -set_serial 7 -days 2 -out $name.pem
            done
            """
        try #require(output(of: "sh", "-c", script) != nil)
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path() }

    private func put(_ source: String, as name: String) throws {
        try Data(contentsOf: URL(filePath: source)).write(
            to: folder.appending(path: name), options: .atomic)
    }

    private func transport(
        _ configure: (inout CurlTransport.Trust) -> Void
    ) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(files.authority)
        configure(&configuration.trust)
        return try CurlTransport(configuration: configuration)
    }

    @Test(
        "A client's certificate that was replaced is shown at the next connection, once its key fits",
        arguments: ["-tls1_2", "-tls1_3"])
    func clientCertificate(version: String) async throws {
        // Its page tells whose certificate the session has; each answer ends its connection.
        let server = try TLSServer(files, "-Verify", "1", "-CAfile", files.authority, version)
        defer { server.stop() }
        try put(path("client-one.pem"), as: "pem")
        try put(path("client-one.key"), as: "key")
        let transport = try transport {
            $0.clientCertificate = .init(certificate: path("pem"), key: path("key"))
        }
        let notes = NoteSink()
        let client = Client(transport: transport, stack: [notes])
        func page() async throws -> String {
            let data = try await client.get("https://localhost:\(server.port)/").data()
            return String(decoding: data, as: UTF8.self)
        }
        for _ in 0..<3 { #expect(try await page().contains("client-one")) }
        #expect(transport.trustFault == nil)
        try put(path("client-two.pem"), as: "pem")
        for _ in 0..<3 { #expect(try await page().contains("client-one")) }
        #expect(transport.trustFault?.contains(path("key")) == true)
        #expect(notes.all.count { $0.contains("do not belong together") } == 1)
        try put(path("client-two.key"), as: "key")
        for _ in 0..<3 {
            let page = try await page()
            #expect(page.contains("client-two"))
            #expect(!page.contains("client-one"))
        }
        #expect(transport.trustFault == nil)
        #expect(notes.all.count == 2, "\(notes.all)")
        #expect(notes.all.last?.contains("can be used again") == true)
        try FileManager.default.removeItem(atPath: path("key"))
        #expect(try await page().contains("client-two"))
        #expect(transport.trustFault?.contains("stays in use") == true)
    }

    @Test(
        "An authority that was replaced vouches for nobody any more",
        arguments: ["-tls1_2", "-tls1_3"])
    func authority(version: String) async throws {
        let server = try TLSServer(files, version)
        defer { server.stop() }
        try put(files.authority, as: "ca")
        let transport = try transport { $0.authorities = .file(path("ca")) }
        let client = Client(transport: transport, stack: [])
        let call = client.get("https://localhost:\(server.port)/")
        for _ in 0..<2 { #expect(try await call.response().status == 200) }
        try put(files.stranger, as: "ca")
        let error = await #expect(throws: ClientError.self) { try await call.data() }
        #expect(error?.code == .tls)
        #expect(transport.trustFault == nil)
        // Half of a file is none.
        let half = try Data(contentsOf: URL(filePath: files.authority)).dropLast(200)
        try Data(half).write(to: folder.appending(path: "ca"))
        let other = await #expect(throws: ClientError.self) { try await call.data() }
        #expect(other?.code == .tls)
        #expect(other?.message.contains(path("ca")) == true)
        try put(files.authority, as: "ca")
        #expect(try await call.response().status == 200)
        #expect(transport.trustFault == nil)
    }
}

/// Keeps what is noted.
private final class NoteSink: RequestLogger {
    private let notes = Notes()

    var all: [String] { notes.all }

    func log(_ event: CallEvent) {
        if case .note(_, let message) = event.kind { notes.add(message) }
    }
}
