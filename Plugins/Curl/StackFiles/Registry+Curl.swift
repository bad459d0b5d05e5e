// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TurnpikeCore
import TurnpikeCurl
public import TurnpikeStackFiles
import TurnpikeSupport

extension Registry {
    /// Adds the transport `curl` for stack files.
    /// - Parameter environment: The variables that name proxies, if a file uses the environment's
    ///   proxies.
    public mutating func registerCurl(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        register(transport: "curl", description: Self.curl) { settings in
            let configuration = try CurlTransport.Configuration(
                settings: settings, environment: environment)
            if settings.isDryRun {
                return MockTransport(
                    capabilities: try CurlTransport.capabilities(with: configuration), [])
            }
            return try CurlTransport(configuration: configuration)
        }
    }
}

extension Registry {
    private static var curl: PartDescription {
        PartDescription(
            "Sends requests over libcurl (`CurlTransport`).",
            settings: [
                "connectTimeout": """
                The time for the wait for a free connection, name lookup, connection and TLS \
                handshake.
                """,
                "maxConnectionsPerHost": "The connection limit of one host. Further calls wait.",
                "idleConnectionTimeout": """
                How long a connection may be idle and still be used again, in whole seconds.
                """,
                "maxConnectionAge": """
                The age from which a connection is not used again, in whole seconds. With \
                this age, even a busy client finds new servers of a name.
                """,
                "dnsCacheTime":
                    "How long the addresses of a name are remembered, in whole seconds.",
                "shuffleAddresses": "Whether the addresses of a name are tried in a random order.",
                "metrics": """
                Where figures of the connections are written: a file, `"stderr"`, or with \
                `"meter:NAME"` a meter that the program has registered.
                """,
                "http2": """
                Whether HTTP/2 is offered. `"automatic"` offers HTTP/2 if the found libcurl loses \
                no response over HTTP/2. `true` means `"on"`, and `false` means `"off"`.
                """,
                "http3": """
                Which requests use HTTP/3: with `"automatic"` those to origins that offer HTTP/3, \
                with `"only"` all requests.
                """,
                "engines": "The number of event loops, each with its own thread and connections.",
                "busyPolling": """
                How long a thread polls for an answer before it sleeps; at most a millisecond.
                """,
                "unixSocket": "A Unix socket for all connections.",
                "proxy": """
                The URL of a proxy (`http`, `socks5` or `socks5h`), or `"environment"` for the \
                proxies that environment variables name.
                """,
                "trust": "The servers that TLS trusts, and the client's own certificate.",
                "trust.ca": "A PEM file with authorities that replace those of the system.",
                "trust.pins": """
                The public keys that a server may have, as `sha256/` and Base64, with a spare key.
                """,
                "trust.clientCertificate": "A PEM file with the client's certificate.",
                "trust.clientKey": """
                A PEM file with the client's key. By default the key is in the certificate's file.
                """,
                "trust.minimumTLS": "The oldest version of TLS.",
            ],
            example:
                #"{"use": "curl", "http2": false, "trust": {"minimumTLS": "1.3"}}"#)
    }
}

extension CurlTransport.Configuration {
    init(settings: Settings, environment: [String: String]) throws {
        self.init()
        connectTimeout = settings.seconds("connectTimeout", default: connectTimeout)
        maxConnectionsPerHost = settings.int(
            "maxConnectionsPerHost", default: maxConnectionsPerHost, in: 1...100_000)
        idleConnectionTimeout = settings.seconds(
            "idleConnectionTimeout", default: idleConnectionTimeout)
        maxConnectionAge = settings.optionalSeconds("maxConnectionAge")
        dnsCacheTime = settings.seconds("dnsCacheTime", default: dnsCacheTime, orZero: true)
        shufflesAddresses = settings.bool("shuffleAddresses", default: shufflesAddresses)
        meter = settings.meter()
        http2 = Self.http2(settings)
        http3 = settings.choice("http3", default: http3)
        engines = settings.int("engines", default: 1, in: 1...64)
        busyPolling = settings.seconds("busyPolling", default: busyPolling, orZero: true)
        unixSocket = settings.string("unixSocket")
        switch settings.string("proxy") {
        case nil: break
        case "environment": proxy = .environment(environment)
        case let text?:
            if let named = CurlTransport.Proxy(text) {
                proxy = .through(named)
            } else {
                settings.issue(
                    at: "proxy",
                    "found another text; expected \"environment\" or \(CurlTransport.Proxy.form)")
            }
        }
        if let inner = settings.object("trust") {
            trust = CurlTransport.Trust(settings: inner)
            inner.finish()
        }
        if http2 == .on, try !CurlTransport.hasHTTP2 {
            settings.refuse("http2", because: "this libcurl has no HTTP/2")
        }
    }

    private static func http2(_ settings: Settings) -> CurlTransport.HTTP2 {
        if settings.value("http2")?.bool == nil {
            return settings.choice("http2", default: .automatic)
        }
        return settings.bool("http2", default: true) ? .on : .off
    }
}

extension CurlTransport.Trust {
    init(settings: Settings) {
        self.init()
        if let path = Self.file("ca", settings) { authorities = .file(path) }
        for (index, text) in settings.strings("pins").enumerated() {
            do {
                pins.append(try CurlTransport.PublicKeyPin(text))
            } catch {
                settings.issue(
                    at: "pins[\(index)]", (error as? ClientError)?.message ?? "\(error)")
            }
        }
        let certificate = Self.file("clientCertificate", settings)
        let key = Self.file("clientKey", settings)
        if let certificate {
            clientCertificate = CurlTransport.ClientCertificate(
                certificate: certificate, key: key ?? certificate)
        } else if key != nil, settings.value("clientCertificate") == nil {
            settings.issue(at: "clientKey", "found no clientCertificate for the key; expected one")
        }
        minimumVersion = settings.choice("minimumTLS", default: minimumVersion)
    }

    // Reports a missing file with the file's place in the settings.
    private static func file(_ key: String, _ settings: Settings) -> String? {
        guard let path = settings.string(key) else { return nil }
        if FileManager.default.isReadableFile(atPath: path) { return path }
        settings.issue(
            at: key, "found no file \(Grammar.escaped(path)) that can be read; expected one")
        return nil
    }
}
