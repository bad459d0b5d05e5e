// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

@testable import TestSupport
@testable import TurnpikeValkey

/// A server with TLS, and certificates made for this run.
private final class SecurePeer: Sendable {
    let peer: ValkeyPeer
    let port: Int
    let authorities: String
    private let folder = TemporaryFolder()

    init?() {
        let script = """
            set -e
            mkdir -p \(folder.path)
            cd \(folder.path)
            openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca
            openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost
            printf 'subjectAltName=DNS:localhost' > ext
            openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
                -extfile ext -out server.pem
            """
        guard output(of: "sh", "-c", script) != nil, let port = try? LoopbackSocket.freePort()
        else { return nil }
        self.port = port
        authorities = folder.path + "/ca.pem"
        let options = [
            "--tls-port", "\(port)", "--tls-cert-file", folder.path + "/server.pem",
            "--tls-key-file", folder.path + "/server.key", "--tls-ca-cert-file", authorities,
            "--tls-auth-clients", "no",
        ]
        guard let peer = try? ValkeyPeer(options: options) else { return nil }
        self.peer = peer
    }
}

@Suite("TLS", .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct ValkeyTLSTests {
    private let limit = Duration.seconds(5)

    @Test("Without OpenSSL, or with another library, that is said at the client's making")
    func library() {
        let error = #expect(throws: ClientError.self) {
            try TLSContext(authorities: nil, loading: "/nonexistent/libssl.so.3")
        }
        #expect(error?.code == .unsupported)
        #expect(
            error?.message.hasPrefix("rediss:// needs OpenSSL 1.1 or 3: there is no /non") == true)
        #if os(Linux)
        let other = #expect(throws: ClientError.self) {
            try TLSContext(authorities: nil, loading: "libc.so.6")
        }
        #expect(other?.message.contains("it has no TLS_client_method") == true)
        #endif
    }

    #if os(Linux)
    private func client(
        _ host: String, _ port: Int, _ authorities: String?
    ) throws -> ValkeyServer {
        var configuration = ValkeyServer.Configuration()
        configuration.connectLimit = .seconds(1)
        return ValkeyServer(
            try ValkeyEngine(
                url: ValkeyURL("rediss://\(host):\(port)"),
                tls: TLSContext(authorities: authorities),
                configuration: configuration, meter: nil))
    }

    @Test("Commands and large values pass", .needs("OpenSSL 3", if: OpenSSL.isThere))
    func roundTrip() async throws {
        let secure = try #require(SecurePeer())
        let server = try client("localhost", secure.port, secure.authorities)
        let large = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0) })
        let set = ValkeyCommand([Data("SET".utf8), Data("a".utf8), large])
        #expect(try await server.send(set, within: limit) == .status("OK"))
        #expect(try await server.send(ValkeyCommand("GET", "a"), within: limit) == .bytes(large))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<32 {
                // Half of them on the thread that alone works with OpenSSL.
                group.addTask(executorPreference: task % 2 == 0 ? server.executor : nil) {
                    for number in 0..<20 {
                        let text = "\(task) \(number)"
                        let value = try await server.send(
                            ValkeyCommand("ECHO", text), within: limit)
                        #expect(value == .bytes(Data(text.utf8)))
                    }
                }
            }
            try await group.waitForAll()
        }
        secure.peer.kill()
        await #expect(throws: ClientError.self) {
            try await server.send(ValkeyCommand("PING"), within: limit)
        }
    }

    @Test(
        "A certificate of another host or authority is refused, and so is a server without TLS",
        .needs("OpenSSL 3", if: OpenSSL.isThere))
    func refusals() async throws {
        let secure = try #require(SecurePeer())
        for (host, authorities) in [("127.0.0.1", secure.authorities), ("localhost", nil)] {
            let server = try client(host, secure.port, authorities)
            let error = await #expect(throws: ClientError.self) {
                try await server.send(ValkeyCommand("PING"), within: limit)
            }
            #expect(error?.code == .tls)
            #expect(
                error?.message.contains("certificate is refused") == true, "\(error?.message ?? "")"
            )
        }
        let plain = try client("localhost", secure.peer.port, secure.authorities)
        let error = await #expect(throws: ClientError.self) {
            try await plain.send(ValkeyCommand("PING"), within: limit)
        }
        // The server waits for the end of a line.
        #expect(error?.code == .connectTimeout)
        #expect(
            error?.message.contains("write redis:// if the server has no TLS") == true,
            "\(error?.message ?? "")")
        let needsTLS = try ValkeyServer(url: "redis://127.0.0.1:\(secure.port)")
        let other = await #expect(throws: ClientError.self) {
            try await needsTLS.send(ValkeyCommand("PING"), within: limit)
        }
        #expect(
            other?.message.contains("write rediss:// instead") == true, "\(other?.message ?? "")")
    }

    #endif
}

#if os(Linux)
private enum OpenSSL {
    static let isThere =
        (try? TLSContext(authorities: nil)) != nil
        && output(of: "openssl", "version") != nil
}
#endif
