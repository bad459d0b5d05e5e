import Foundation
public import TurnpikeCore

extension Registry {
    /// Adds the transport `curl` to the names of stack files.
    public mutating func registerCurl() {
        register(transport: "curl") { try CurlTransport(settings: $0) }
    }
}

extension CurlTransport {
    convenience init(settings: Settings) throws {
        var configuration = Configuration()
        configuration.connectTimeout = settings.seconds(
            "connectTimeout", default: configuration.connectTimeout)
        configuration.maxConnectionsPerHost = settings.int(
            "maxConnectionsPerHost", default: configuration.maxConnectionsPerHost, in: 1...100_000)
        configuration.idleConnectionTimeout = settings.seconds(
            "idleConnectionTimeout", default: configuration.idleConnectionTimeout)
        configuration.http2 = settings.bool("http2", default: configuration.http2)
        configuration.engines = settings.int("engines", default: 1, in: 1...64)
        configuration.busyPolling = settings.seconds(
            "busyPolling", default: configuration.busyPolling, orZero: true)
        configuration.unixSocket = settings.string("unixSocket")
        if let proxy = settings.string("proxy") {
            configuration.proxy = Proxy(proxy)
            if configuration.proxy == nil {
                settings.issue(
                    at: "proxy",
                    "a URL like http://user:password@host:port is wanted; http, socks5 and socks5h are known"
                )
            }
        }
        if let trust = settings.object("trust") {
            configuration.trust = Trust(settings: trust)
            trust.finish()
        }
        if configuration.http2, settings.value("http2") != nil,
            try !CurlLibrary.load().hasHTTP2
        {
            settings.refuse("http2", because: "this libcurl has no HTTP/2")
        }
        try self.init(configuration: configuration)
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
                    at: "pins[\(index)]", (error as? ClientError)?.message ?? "it is no pin")
            }
        }
        let certificate = Self.file("clientCertificate", settings)
        let key = Self.file("clientKey", settings)
        if let certificate {
            clientCertificate = CurlTransport.ClientCertificate(
                certificate: certificate, key: key ?? certificate)
        } else if key != nil, settings.value("clientCertificate") == nil {
            settings.issue(at: "clientKey", "a key needs a clientCertificate")
        }
        minimumVersion = settings.choice("minimumTLS", default: minimumVersion)
    }

    // A file that is not there is told with its place.
    private static func file(_ key: String, _ settings: Settings) -> String? {
        guard let path = settings.string(key) else { return nil }
        if FileManager.default.isReadableFile(atPath: path) { return path }
        settings.issue(at: key, "there is no file \(Grammar.escaped(path)) that can be read")
        return nil
    }
}

extension CurlTransport.Proxy {
    /// Creates a proxy from a URL, with user and password in it, or nil where it is none.
    init?(_ text: String) {
        guard let components = URLComponents(string: text), let url = components.url,
            AuthorityText(of: url).fault == nil,
            let scheme = components.scheme.flatMap({ Scheme(rawValue: $0.lowercased()) }),
            let host = components.host, !host.isEmpty
        else { return nil }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        self.init(scheme, host: bare, port: components.port ?? (scheme == .http ? 80 : 1080))
        user = components.user
        password = components.password
    }
}
