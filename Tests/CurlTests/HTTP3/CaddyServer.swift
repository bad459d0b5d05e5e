// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// Caddy with HTTP/3 on loopback, which passes all requests to a ``TestServer``.
final class CaddyServer: Sendable {
    /// What it speaks.
    enum Versions: String {
        case upTo3 = #"["h1", "h2", "h3"]"#
        /// Over TCP alone. A UDP socket at the same port reads, and answers nothing.
        case upTo2 = #"["h1", "h2"]"#
        case only1 = #"["h1"]"#
    }

    /// Where the requests arrive.
    let upstream: TestServer
    let port: Int
    private let process: ChildProcess
    private let folder = TemporaryFolder()
    private let silence: SilentSocket?

    static let need = "caddy, openssl, and a libcurl with HTTP/3 (scripts/libcurl --http3)"

    /// Whether the tests of HTTP/3 can run.
    static let isAvailable =
        ServerProcess.path(of: "caddy") != nil && TLSFiles.shared != nil
        && (try? CurlLibrary.loadHTTP3()) != nil

    var base: Target { Target("https://localhost:\(port)/") }

    init(
        _ versions: Versions = .upTo3, clientAuthority: String? = nil
    ) throws {
        let files = try #require(TLSFiles.shared)
        upstream = try TestServer()
        upstream.fallback(.ok(text: "hi"))
        let authority = clientAuthority.map {
            #""client_authentication": {"mode": "require_and_verify", "#
                + #""trusted_ca_certs_pem_files": ["\#($0)"]}, "#
        }
        var attempts = 0
        while true {
            // Another process may take the port before Caddy does.
            let silence = versions == .upTo3 ? nil : try SilentSocket()
            let port = try silence?.port ?? SilentSocket().port
            // Caddy itself offers HTTP/3 if it has it, and passes no other offers on.
            let offer =
                versions == .upTo3
                ? ""
                : #"{"handler": "headers", "response": {"deferred": true, "set": {"Alt-Svc": ["h3=\":\#(port)\""]}}},"#
            let text = """
                {"admin": {"disabled": true, "config": {"persist": false}},
                 "storage": {"module": "file_system", "root": "\(folder.path)"},
                 "apps": {
                  "tls": {"certificates": {"load_files": [
                   {"certificate": "\(files.certificate)", "key": "\(files.key)"}]}},
                  "http": {"servers": {"one": {
                   "listen": ["127.0.0.1:\(port)"], "protocols": \(versions.rawValue),
                   "automatic_https": {"disable": true}, "tls_connection_policies": [
                    {\(authority ?? "")"default_sni": "localhost"}],
                   "routes": [{"handle": [\(offer)
                    {"handler": "reverse_proxy", "flush_interval": -1,
                    "upstreams": [{"dial": "127.0.0.1:\(upstream.port)"}]}]}]}}}}}
                """
            try folder.write(text, to: "caddy.json")
            let process = try ChildProcess(
                "caddy", ["run", "--config", folder["caddy.json"]],
                environment: ["HOME": folder.path], output: .pipe, errors: .output)
            var line: String? = ""
            while let known = line, !known.contains("serving initial configuration") {
                line = process.readLine()
            }
            attempts += 1
            guard line != nil else {
                guard attempts < 5 else { throw ServerFault("caddy could not be started") }
                continue
            }
            (self.port, self.process, self.silence) = (port, process, silence)
            return
        }
    }

    /// Ends it as `kill -9` does.
    func kill() {
        process.kill()
        process.wait()
    }

    /// Creates a client whose transport trusts the server.
    func client(
        _ http3: CurlTransport.HTTP3, stack: Stack = [],
        _ configure: (inout CurlTransport.Configuration) throws -> Void = { _ in }
    ) throws -> Client {
        try http3Client(http3, at: port, stack: stack, configure)
    }
}

/// A UDP socket on loopback that takes what comes, and answers nothing.
final class SilentSocket: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        #if os(Linux)
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_DGRAM, 0)
        #endif
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, length) != 0
                    || getsockname(descriptor, $0, &length) != 0
            }
        }
        guard !code else { throw ServerFault("no UDP port: errno \(errno)") }
        port = Int(UInt16(bigEndian: address.sin_port))
        // Ends when the socket is shut down. Bytes that nobody reads would be dropped as well, but
        // only once the buffer is full.
        Thread.detachNewThread {
            var bytes = [UInt8](repeating: 0, count: 2048)
            var peer = sockaddr()
            var length = socklen_t(MemoryLayout<sockaddr>.size)
            while true {
                let count = unsafe recvfrom(descriptor, &bytes, bytes.count, 0, &peer, &length)
                if count <= 0 { break }
            }
            close(descriptor)
        }
    }

    // Linux wakes the reader of an unconnected socket, too.
    deinit { shutdown(descriptor, CInt(2)) }
}
