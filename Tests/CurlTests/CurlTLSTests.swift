// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import Turnpike

@testable import TurnpikeCurl

/// TLS against `openssl s_server`, with certificates made for this run.
@Suite("TLS over libcurl", .needs("openssl", if: TLSFiles.shared != nil))
struct CurlTLSTests {
    private let files: TLSFiles

    init() throws { files = try #require(TLSFiles.shared) }

    private func get(
        _ server: TLSServer, host: String = "localhost",
        _ configure: (inout CurlTransport.Trust) -> Void
    ) async throws -> HTTPStatus {
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .file(files.authority)
        configure(&configuration.trust)
        configuration.overrides = [
            CurlTransport.HostOverride(host: host, port: server.port, addresses: ["127.0.0.1"])
        ]
        let transport = try CurlTransport(configuration: configuration)
        let client = Client(transport: transport, stack: [])
        let response = try await client.get("https://\(host):\(server.port)/").response()
        #expect(response.timeline.secured != nil)
        response.body.cancel()
        return response.status
    }

    private func refusal(
        _ server: TLSServer, host: String = "localhost",
        _ configure: (inout CurlTransport.Trust) -> Void
    ) async -> ClientError? {
        let error = await #expect(throws: ClientError.self) {
            try await get(server, host: host, configure)
        }
        #expect(error?.code == .tls)
        return error
    }

    @Test(
        "A new connection resumes the TLS session of the one before",
        arguments: ["-tls1_2", "-tls1_3"])
    func resumption(version: String) async throws {
        // Its page tells whether the session is new; each answer ends its connection.
        let server = try TLSServer(files, version)
        defer { server.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.trust.authorities = .data(
            try Data(contentsOf: URL(filePath: files.authority)))
        let client = Client(
            transport: try CurlTransport(configuration: configuration), stack: [])
        var pages: [String] = []
        for _ in 0..<3 {
            let call = client.get("https://localhost:\(server.port)/")
            pages.append(String(decoding: try await call.data(), as: UTF8.self))
        }
        #expect(pages.map { $0.contains("Reused, ") } == [false, true, true])
    }

    #if os(Linux)
    // OpenSSL's handler of the exit would run before the one that is registered here.
    @Test("A process that exits can still open a connection over TLS")
    func exit() async {
        await #expect(processExitsWith: .exitCode(3)) {
            atexit {
                let isOver = DispatchSemaphore(value: 0)
                Task.detached {
                    let files = TLSFiles.shared!
                    let server = try TLSServer(files)
                    var configuration = CurlTransport.Configuration()
                    configuration.trust.authorities = .file(files.authority)
                    let client = Client(
                        transport: try CurlTransport(configuration: configuration), stack: [])
                    _ = try await client.get("https://localhost:\(server.port)/").data()
                    server.stop()
                    isOver.signal()
                }
                isOver.wait()
            }
            _ = try CurlTransport()
            Foundation.exit(3)
        }
    }

    @Test("Authorities in memory have a path that later content does not have")
    func authorityFile() throws {
        func path(of text: String) throws -> String {
            let file = try #require(AuthorityFile(Data(text.utf8)))
            #expect(try String(contentsOfFile: file.path, encoding: .utf8) == text)
            return file.path
        }
        let paths = try (0..<64).map { try path(of: "content \($0)") }
        #expect(Set(paths).count == paths.count)
    }
    #endif

    @Test("Authorities that are no certificates are a fault of TLS, told in the user's terms")
    func noAuthorities() async throws {
        let server = try TLSServer(files)
        defer { server.stop() }
        let error = await refusal(server) { $0.authorities = .data(Data("no PEM".utf8)) }
        #expect("\(error as Any)".contains("the certificate authorities could not be read"))
        #expect(!"\(error as Any)".contains("/proc/"))
    }

    @Test("A server is believed where its authority is, from a file or from memory")
    func authorities() async throws {
        let server = try TLSServer(files)
        defer { server.stop() }
        #expect(try await get(server) { _ in } == 200)
        let data = try Data(contentsOf: URL(filePath: files.authority))
        #expect(try await get(server) { $0.authorities = .data(data) } == 200)
        let error = await refusal(server) { $0.authorities = .system }
        let reason = "\(error?.underlying as Any)"
        // Some builds look for the system's authorities elsewhere, and find none.
        let words = ["certificate", "trust anchors"]
        #expect(words.contains { reason.contains($0) }, "the reason is told")
        #expect(error?.transfer?.isUnsent == true)
    }

    @Test("The host's name is verified, unless nothing is, by name")
    func hostName() async throws {
        let server = try TLSServer(files)
        defer { server.stop() }
        _ = await refusal(server, host: "other.invalid") { _ in }
        let status = try await get(server, host: "other.invalid") {
            $0.authorities = .system
            $0.insecurelyAcceptsAnyCertificate = true
        }
        #expect(status == 200)
    }

    @Test("A pin, or its backup, must match the server's key")
    func pins() async throws {
        let server = try TLSServer(files)
        defer { server.stop() }
        let right = try CurlTransport.PublicKeyPin("sha256/" + files.pin)
        let wrong = try CurlTransport.PublicKeyPin(
            "sha256/" + Data(repeating: 1, count: 32).base64EncodedString())
        #expect(try await get(server) { $0.pins = [wrong, right] } == 200)
        let error = await refusal(server) { $0.pins = [wrong] }
        #expect(error?.message.contains("pinned") == true)
    }

    @Test("A client's certificate is shown where a server wants one")
    func clientCertificate() async throws {
        let server = try TLSServer(files, "-Verify", "1", "-CAfile", files.authority)
        defer { server.stop() }
        let status = try await get(server) {
            $0.clientCertificate = CurlTransport.ClientCertificate(
                certificate: files.certificate, key: files.key)
        }
        #expect(status == 200)
        await #expect(throws: ClientError.self) { try await get(server) { _ in } }
    }

    @Test("The key's password must be right, and nobody is asked for it")
    func keyPassword() async throws {
        let server = try TLSServer(files, "-Verify", "1", "-CAfile", files.authority)
        defer { server.stop() }
        func certificate(_ password: String?) -> CurlTransport.ClientCertificate {
            .init(certificate: files.certificate, key: files.lockedKey, password: password)
        }
        #expect(try await get(server) { $0.clientCertificate = certificate("S3CRET") } == 200)
        for password in ["wr0ng", "", nil] {
            let error = await refusal(server) { $0.clientCertificate = certificate(password) }
            #expect(error?.transfer?.isUnsent == true)
            #expect(error?.message.contains("client's certificate") == true)
            #expect(!"\(error.debugDescription)".contains("wr0ng"))
        }
        #expect(!String(reflecting: certificate("S3CRET")).contains("S3CRET"))
    }

    @Test(
        "A certificate or key that is no file is refused at once; one that is none, when it is shown"
    )
    func files() async throws {
        let folder = FileManager.default.temporaryDirectory.path
        for missing in ["/nonexistent/file.pem", folder] {
            var configuration = CurlTransport.Configuration()
            let pairs = [(missing, files.key), (files.certificate, missing)]
            for (certificate, key) in pairs {
                configuration.trust.clientCertificate = .init(certificate: certificate, key: key)
                let error = #expect(throws: ClientError.self) {
                    try CurlTransport(configuration: configuration)
                }
                #expect(error?.code == .configuration)
                #expect(error?.message.contains(missing) == true)
            }
        }
        let server = try TLSServer(files)
        defer { server.stop() }
        let error = await refusal(server) {
            $0.clientCertificate = .init(certificate: files.hash, key: files.key)
        }
        #expect(error?.transfer?.isUnsent == true)
    }

    @Test("Old versions of TLS are refused")
    func version() async throws {
        let server = try TLSServer(files, "-tls1_2")
        defer { server.stop() }
        #expect(try await get(server) { _ in } == 200)
        _ = await refusal(server) { $0.minimumVersion = .tls13 }
    }
}

/// An authority, and a server's certificate by it.
struct TLSFiles: Sendable {
    let authority, certificate, key, pin: String
    /// The same key under the password `S3CRET`.
    let lockedKey: String
    /// A file that is no certificate.
    let hash: String
    /// A certificate that no authority vouches for.
    let stranger, strangerKey: String

    static let shared = TLSFiles()

    private init?() {
        let folder =
            FileManager.default.temporaryDirectory.path + "/turnpike-tls-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        authority = folder + "/ca.pem"
        certificate = folder + "/server.pem"
        key = folder + "/server.key"
        lockedKey = folder + "/locked.key"
        hash = folder + "/hash"
        stranger = folder + "/stranger.pem"
        strangerKey = folder + "/stranger.key"
        let script = """
            set -e; cd '\(folder)'
            openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca
            openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost
            printf 'subjectAltName=DNS:localhost' > ext
            openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
                -extfile ext -out server.pem
            openssl x509 -in server.pem -pubkey -noout > key.pem
            openssl pkey -pubin -in key.pem -outform der > key.der
            openssl dgst -sha256 -binary key.der > hash
            openssl base64 -in hash > pin
            openssl req -x509 -newkey rsa:2048 -nodes -keyout stranger.key -out stranger.pem -days 2 \
                -subj /CN=stranger
            openssl pkey -in server.key -aes256 -passout pass:S3CRET -out locked.key
            """
        guard output(of: "sh", "-c", script) != nil,
            let pin = try? String(contentsOfFile: folder + "/pin", encoding: .utf8)
        else { return nil }
        self.pin = pin.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// `openssl s_server`, which answers each request with a page, or with what a file of a folder holds.
final class TLSServer {
    let port: Int
    private let process: ChildProcess

    init(_ files: TLSFiles, _ options: String..., in folder: URL? = nil) throws {
        process = try ChildProcess(
            "openssl",
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", files.certificate, "-key", files.key,
            ] + (folder == nil ? ["-www"] : []) + options, in: folder?.path(), input: .pipe,
            output: .pipe, errors: .null)
        var address = ""
        while !address.hasPrefix("ACCEPT "), let line = process.readLine() { address = line }
        let digits = address.split(separator: ":").last?.prefix { $0.isNumber } ?? ""
        port = try Int(digits) ?? { throw POSIXError(.EIO) }()
    }

    func stop() {
        process.kill()
        process.wait()
    }
}
