// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore
import TurnpikeSupport

/// A configuration as options of libcurl, which are set once on each handle.
struct CurlOptions: Sendable {
    let library: CurlLibrary
    let configuration: CurlTransport.Configuration
    let proxies: ProxyRoutes
    // The rule for the use of HTTP/3. With `.automatic`, TCP connects too and may be faster.
    let http3: CurlTransport.HTTP3
    /// The trust files, or nil if libcurl itself reads the files.
    let trustFiles: TrustFiles?
    private let authorityFile: AuthorityFile?

    private typealias Configuration = CurlTransport.Configuration

    /// Whether HTTP/2 is offered to every server, before HTTP/1.1.
    let offersHTTP2: Bool
    /// Whether HTTP/2 is used for a server that refuses HTTP/1.1.
    let fallsBackToHTTP2: Bool

    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if this libcurl lacks a feature, or
    ///   ``/TurnpikeCore/ClientError/Code/configuration`` if every libcurl lacks the feature.
    init(
        _ configuration: CurlTransport.Configuration, library: CurlLibrary,
        http3: CurlTransport.HTTP3 = .off
    ) throws {
        self.library = library
        self.http3 = http3
        self.configuration = configuration
        proxies = try ProxyRoutes(configuration.proxy)
        if let fault = Self.http3Fault(configuration, proxies) {
            throw ClientError(.configuration, fault)
        }
        switch configuration.http2 {
        case _ where http3 == .only: offersHTTP2 = false
        case .automatic: offersHTTP2 = library.isHTTP2Sound
        case .on where !library.hasHTTP2: throw library.unsupported("HTTP/2")
        case .on: offersHTTP2 = true
        case .off: offersHTTP2 = false
        }
        fallsBackToHTTP2 =
            configuration.http2 == .automatic && library.hasHTTP2 && !offersHTTP2
            && http3 == .off
        let trust = configuration.trust
        if configuration.unixSocket != nil, !library.hasUnixSockets {
            throw library.unsupported("Unix sockets")
        }
        switch trust.authorities {
        case .system: break
        case .file(let path): try Self.checkFile(path, "the certificate authorities")
        case .data(let data):
            if library.version < 0x074D00 { throw library.unsupported("authorities in memory") }
            if data.isEmpty {
                throw ClientError(.configuration, "the text of certificate authorities is empty")
            }
        }
        if let certificate = trust.clientCertificate {
            try Self.checkFile(certificate.certificate, "the client's certificate")
            try Self.checkFile(certificate.key, "the client's key")
        }
        let isTrustSet =
            !trust.pins.isEmpty || trust.clientCertificate != nil
            || trust.insecurelyAcceptsAnyCertificate
        if isTrustSet, !library.hasTLS { throw library.unsupported("TLS") }
        trustFiles = try TrustFiles(trust, library: library)
        if case .data(let data) = trust.authorities {
            authorityFile = AuthorityFile(data)
        } else {
            authorityFile = nil
        }
        if let path = configuration.unixSocket, path.utf8.count > 103 {
            throw ClientError(
                .configuration,
                "found a path of \(path.utf8.count) bytes for the Unix socket; expected at most 103"
            )
        }
    }

    private static func http3Fault(
        _ configuration: CurlTransport.Configuration, _ proxies: ProxyRoutes
    ) -> String? {
        switch configuration.http3 {
        case .off: nil
        case _ where configuration.unixSocket != nil:
            "found http3 with a Unix socket; expected \"off\", since HTTP/3 needs UDP"
        case .automatic where configuration.http2 == .off:
            "found http3 set to \"automatic\", but http2 to \"off\"; expected http2 set to"
                + " \"automatic\" or \"on\", since libcurl offers HTTP/2 if HTTP/3 does not answer"
        case .only where !proxies.isEmpty:
            "found http3 set to \"only\" together with a proxy; expected \"automatic\" or \"off\","
                + " since HTTP/3 goes through no proxy"
        case .automatic, .only: nil
        }
    }

    var sharesConnections: Bool { offersHTTP2 || http3 != .off }

    private static func checkFile(_ path: String, _ what: String) throws {
        guard UnnamedFile.isFolder(path) == false, FileManager.default.isReadableFile(atPath: path)
        else {
            throw ClientError(
                .configuration, "\(what): found no file \(path) that can be read; expected one")
        }
    }

    var capabilities: TransportCapabilities {
        var capabilities: TransportCapabilities = [
            .liveUpload, .phaseTimes, .trailers, .encodedSizes,
        ]
        if http3 != .only { capabilities.formUnion([.requestTrailers, .upgrades]) }
        if proxies.takeAll { return capabilities }
        capabilities.insert(.connectTargets)
        if configuration.unixSocket == nil { capabilities.insert(.addressRules) }
        return capabilities
    }

    var limits: tpc_limits {
        func long(_ count: Int?) -> Int { min(max(count ?? 0, 0), Int(Int32.max)) }
        return tpc_limits(
            idle_connections: max(1, long(configuration.maxIdleConnections)),
            connections_per_host: long(configuration.maxConnectionsPerHost),
            connections: long(configuration.maxConnections),
            streams: max(1, long(configuration.maxStreamsPerConnection)),
            // libcurl counts whole seconds. After the last second of this time, libcurl may still
            // use a connection for another second.
            unused_time: Int64(Self.seconds(configuration.idleConnectionTimeout) + 2) * 1000,
            busy_polling: min(max(configuration.busyPolling.wholeNanoseconds, 0), 1_000_000),
            shares_sessions: library.hasTLS && !library.isHandleReuseSound)
    }

    /// The time in milliseconds.
    var connectTimeout: Int {
        Int(min(max(configuration.connectTimeout.wholeNanoseconds / 1_000_000, 1), 1 << 31))
    }

    func apply(to handle: CurlHandle) throws {
        let setter = Setter(handle: handle, library: library)
        try setter.set(TPC_CONNECT_TIMEOUT_MS, connectTimeout, "connectTimeout")
        let delay = configuration.connectionAttemptDelay.wholeNanoseconds / 1_000_000
        try setter.set(
            TPC_HAPPY_EYEBALLS_TIMEOUT_MS, Int(min(max(delay, 10), 1 << 31)),
            "connectionAttemptDelay")
        try setter.set(
            TPC_MAX_AGE_CONNECTION, Self.seconds(configuration.idleConnectionTimeout),
            "idleConnectionTimeout")
        if let age = configuration.maxConnectionAge {
            try setter.set(TPC_MAX_LIFETIME_CONNECTION, Self.seconds(age), "maxConnectionAge")
        }
        let memory =
            configuration.dnsCacheTime > .zero ? Self.seconds(configuration.dnsCacheTime) : 0
        try setter.set(TPC_DNS_CACHE_TIMEOUT, memory, "dnsCacheTime")
        if configuration.shufflesAddresses {
            try setter.set(TPC_DNS_SHUFFLE_ADDRESSES, 1, "shufflesAddresses")
        }
        let version =
            switch http3 {
            case .off: offersHTTP2 ? TPC_HTTP_2_TLS : TPC_HTTP_1_1
            case .automatic: TPC_HTTP_3
            case .only: TPC_HTTP_3_ONLY
            }
        try setter.set(TPC_HTTP_VERSION, version, http3 == .off ? "http2" : "http3")
        if let path = configuration.unixSocket {
            try setter.set(TPC_UNIX_SOCKET_PATH, path, "unixSocket")
        }
        if let interface = configuration.sourceInterface {
            try setter.set(TPC_INTERFACE, interface, "sourceInterface")
        }
        if !configuration.overrides.isEmpty {
            let lines = configuration.overrides.map { override in
                "\(override.host):\(override.port):" + override.addresses.joined(separator: ",")
            }
            try setter.check(handle.setOverrides(lines), "overrides")
        }
        try apply(proxies, setter)
        if library.hasTLS { try apply(configuration.trust, setter) }
    }

    // Returns whole seconds, at least one.
    private static func seconds(_ duration: Duration) -> Int {
        Int(min(max(duration.components.seconds, 1), 1 << 30))
    }

    private func apply(_ proxies: ProxyRoutes, _ setter: Setter) throws {
        if proxies.isEmpty { return }
        let code = setter.handle.setProxies(
            http: proxies.http?.curlText, https: proxies.https?.curlText)
        try setter.check(code, "proxy")
        // The field is only for CONNECT. A server gets the request's own `User-Agent`.
        try setter.set(TPC_USER_AGENT, "turnpike", "proxy")
        try setter.set(TPC_NO_PROXY, proxies.exceptions, "proxy.exceptions")
    }

    /// Sets the content of the trust files on a handle, unless the content is already set.
    func apply(_ trust: TrustFiles.Content, to handle: CurlHandle) throws {
        if handle.trust === trust { return }
        let setter = Setter(handle: handle, library: library)
        if let file = trust.authorityFile { try apply(authorities: file.path, setter) }
        if let authorities = unsafe trust.authorities {
            unsafe try setter.check(
                handle.set(TPC_CA_BLOB, keeping: authorities), "trust.authorities")
            try apply(authorities: nil, setter)
        }
        if let certificate = unsafe trust.certificate, let key = unsafe trust.key {
            unsafe try setter.check(
                handle.set(TPC_CERTIFICATE_BLOB, keeping: certificate), "trust.clientCertificate")
            unsafe try setter.check(
                handle.set(TPC_KEY_BLOB, keeping: key), "trust.clientCertificate")
        }
        handle.keep(trust)
    }

    private func apply(authorities path: String?, _ setter: Setter) throws {
        try setter.set(TPC_CA_FILE, path, "trust.authorities")
        try setter.set(TPC_CA_PATH, nil, "trust.authorities")
    }

    private func apply(_ trust: CurlTransport.Trust, _ setter: Setter) throws {
        let version = trust.minimumVersion == .tls13 ? TPC_TLS_1_3 : TPC_TLS_1_2
        try setter.set(TPC_TLS_VERSION, version, "trust.minimumVersion")
        if trust.insecurelyAcceptsAnyCertificate {
            try setter.set(TPC_VERIFY_PEER, 0, "trust")
            try setter.set(TPC_VERIFY_HOST, 0, "trust")
        }
        switch trust.authorities {
        case .system: break
        case .file where trustFiles != nil: break
        case .file(let path): try apply(authorities: path, setter)
        case .data where authorityFile != nil: try apply(authorities: authorityFile?.path, setter)
        case .data(let data):
            try setter.check(setter.handle.set(TPC_CA_BLOB, data), "trust.authorities")
            try apply(authorities: nil, setter)
        }
        if !trust.pins.isEmpty {
            let pins = trust.pins.map(\.curlText).joined(separator: ";")
            try setter.set(TPC_PINNED_KEYS, pins, "trust.pins")
        }
        // A resumed session would use the old content of the files.
        if trust.namesFiles, trustFiles == nil { try setter.set(TPC_TLS_SESSIONS, 0, "trust") }
        if let certificate = trust.clientCertificate {
            if trustFiles == nil {
                try setter.set(TPC_CERTIFICATE, certificate.certificate, "trust.clientCertificate")
                try setter.set(TPC_KEY, certificate.key, "trust.clientCertificate")
            }
            // Without a password option, OpenSSL would wait for input at the terminal. GnuTLS reads
            // a key without a password only if no password option is set.
            let password = certificate.password ?? (library.hasGnuTLS ? nil : "")
            try setter.set(TPC_KEY_PASSWORD, password, "trust.clientCertificate")
        }
    }
}

// Sets options. If libcurl refuses an option, throws an error with the name of the setting.
private struct Setter {
    let handle: CurlHandle
    let library: CurlLibrary

    func set(_ option: Int, _ value: Int, _ name: String) throws {
        try check(handle.set(option, value), name)
    }

    func set(_ option: Int, _ text: String?, _ name: String) throws {
        try check(handle.set(option, text), name)
    }

    func check(_ code: Int32, _ name: String) throws {
        if code != 0 { throw library.unsupported("\(name): \(handle.faultText(code))") }
    }
}
