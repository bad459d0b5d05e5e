// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL
import TurnpikeEssentials
public import TurnpikeStackFiles
import TurnpikeSupport

extension Registry {
    /// Adds the transport `async-http-client` to the names of stack files.
    ///
    /// Each transport has a separate `HTTPClient`, which is shut down together with the client.
    public mutating func registerAsyncHTTPClient() {
        register(transport: "async-http-client", description: Self.asyncHTTPClient) { settings in
            let configuration = try HTTPClient.Configuration(settings)
            if settings.isDryRun {
                return MockTransport(capabilities: [.liveUpload, .encodedSizes], [])
            }
            return AsyncHTTPClientTransport(configuration: configuration)
        }
    }

    private static var asyncHTTPClient: PartDescription {
        PartDescription(
            "Sends requests over async-http-client (`AsyncHTTPClientTransport`).",
            settings: [
                "connectTimeout": "The time for name lookup, connection and TLS handshake.",
                "maxConnectionsPerHost": "The HTTP/1.1 connection limit of a host. Others wait.",
                "idleConnectionTimeout": "How long an idle connection is kept.",
                "http2": "Whether HTTP/2 is offered.",
                "trust": "The servers that TLS trusts, and the client's own certificate.",
                "trust.ca": "A PEM file with authorities that replace those of the system.",
                "trust.clientCertificate": "A PEM file with the client's certificate.",
                "trust.clientKey": """
                A PEM file with the client's key. By default the key is in the certificate's file.
                """,
                "trust.minimumTLS": "The oldest version of TLS.",
            ],
            example:
                #"{"use": "async-http-client", "http2": false, "trust": {"minimumTLS": "1.3"}}"#)
    }
}

extension HTTPClient.Configuration {
    private enum MinimumTLS: String, CaseIterable {
        case tls12 = "1.2"
        case tls13 = "1.3"
    }

    init(_ settings: Settings) throws {
        self.init()
        // Gates of the stack file set the other time limits.
        timeout = Timeout(
            connect: TimeAmount(settings.seconds("connectTimeout", default: .seconds(10))))
        connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = settings.int(
            "maxConnectionsPerHost", default: 64, in: 1...100_000)
        connectionPool.idleTimeout = TimeAmount(
            settings.seconds("idleConnectionTimeout", default: .seconds(60)))
        httpVersion = settings.bool("http2", default: true) ? .automatic : .http1Only
        guard let inner = settings.object("trust") else { return }
        defer { inner.finish() }
        var tls = TLSConfiguration.makeClientConfiguration()
        let oldest: MinimumTLS = inner.choice("minimumTLS", default: .tls12)
        tls.minimumTLSVersion = oldest == .tls13 ? .tlsv13 : .tlsv12
        if let path = Self.file("ca", inner) { tls.trustRoots = .file(path) }
        let certificate = Self.file("clientCertificate", inner)
        let key = Self.file("clientKey", inner)
        if let certificate {
            tls.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate)
                .map { .certificate($0) }
            tls.privateKey = .privateKey(
                try NIOSSLPrivateKey(file: key ?? certificate, format: .pem))
        } else if key != nil, inner.value("clientCertificate") == nil {
            inner.issue(at: "clientKey", "found no clientCertificate for the key; expected one")
        }
        tlsConfiguration = tls
    }

    // Reports a missing file with the place of the setting in the stack file.
    private static func file(_ key: String, _ settings: Settings) -> String? {
        guard let path = settings.string(key) else { return nil }
        if FileManager.default.isReadableFile(atPath: path) { return path }
        settings.issue(
            at: key, "found no file \(Grammar.escaped(path)) that can be read; expected one")
        return nil
    }
}
