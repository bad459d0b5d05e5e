// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import TurnpikeCore

/// A request's own settings for the connection, with the target and the rule for addresses.
struct CurlRoute: Sendable {
    /// The endpoint of the connection, instead of the URL's host.
    let target: ConnectTarget?
    /// Whether the request must not share a connection with other requests; see `request.c`.
    let needsHTTP1: Bool
    // The rule that checks each address. With a proxy, the rule is nil, because libcurl connects to
    // the proxy.
    private let rule: AddressRule?
    private let proxyTrait: Int
    private let line: String?

    /// Creates a route, or returns nil without a connect target and without an effective rule.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if libcurl cannot connect to the
    ///   target, or ``/TurnpikeCore/ClientError/Code/urlPolicy`` if the rule refuses the target.
    init?(_ request: Request, _ options: CurlOptions) throws {
        guard let origin = request.origin else { return nil }
        target = request.options.connectTarget
        let isProxied = options.proxies.route(origin)
        if let target { try Self.check(target, isProxied: isProxied, options) }
        let goesToSocket = target == nil && options.configuration.unixSocket != nil
        rule = isProxied || goesToSocket ? nil : request.options.addressRule
        if case .unixSocket = target, rule != nil {
            throw ClientError(
                .urlPolicy,
                "the address rule of the request refuses a Unix socket, which has no IP address",
                transfer: TransferState(.connecting))
        }
        let isDecided = options.proxies.isEmpty || options.proxies.exceptions.isEmpty
        proxyTrait = isDecided ? 0 : isProxied ? TPC_PROXIED | TPC_ROUTED : TPC_DIRECT
        if target == nil, rule == nil, proxyTrait == 0 { return nil }
        if case .host = target {
            needsHTTP1 = options.http3 == .off && !options.library.isHTTP2Sound
        } else {
            needsHTTP1 = false
        }
        line = if case .host = target { target.map { "::\($0)" } } else { nil }
    }

    private static func check(
        _ target: ConnectTarget, isProxied: Bool, _ options: CurlOptions
    ) throws {
        if let fault = target.fault { throw ClientError(.invalidRequest, fault) }
        let hasSockets = options.library.hasUnixSockets && options.http3 != .only
        if case .unixSocket = target, !hasSockets {
            throw options.library.unsupported("Unix sockets")
        }
        if isProxied {
            throw ClientError(
                .unsupported,
                "the request must connect to \(target), but its host is reached through a proxy;"
                    + " use a transport without proxy, or add the host to the proxy's exceptions")
        }
    }

    func allows(_ address: UnsafeRawBufferPointer) -> Bool {
        guard let rule else { return true }
        func word(_ range: Range<Int>) -> UInt64 {
            unsafe address[range].reduce(0) { $0 << 8 | UInt64($1) }
        }
        let v4 = address.count == 4 ? word(0..<4) : word(12..<16)
        // A connection to an IPv4-mapped IPv6 address uses IPv4 (RFC 4291 §2.5.5.2).
        let isMapped = address.count == 16 && word(0..<8) == 0 && word(8..<12) == 0xFFFF
        if address.count == 4 || isMapped {
            return rule.allows(IPAddress(v4: UInt32(truncatingIfNeeded: v4)))
        }
        return rule.allows(IPAddress(high: word(0..<8), low: word(8..<16)))
    }

    func add(to request: tpc_request, _ body: (tpc_request) -> Int32) -> Int32 {
        var request = unsafe request
        let traits = proxyTrait | (rule == nil ? 0 : TPC_JUDGED) | (target == nil ? 0 : TPC_ROUTED)
        unsafe request.traits |= Int32(traits)
        unsafe request.scope = scope
        if let line {
            return unsafe line.withCString {
                unsafe request.connect_to = $0
                return unsafe body(request)
            }
        }
        guard case .unixSocket(let path) = target else { return unsafe body(request) }
        return unsafe path.withCString {
            unsafe request.unix_socket = $0
            return unsafe body(request)
        }
    }

    // The scope that `request.c` describes. The scope is 0 for a name, because libcurl would use
    // another scope for an IPv6 address.
    private var scope: UInt32 {
        switch target {
        case .host(let host, let port):
            let isIPv4 = host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
            return isIPv4 ? UInt32(port) : 0
        case .unixSocket(let path):
            return path.utf8.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 } | 1
        case nil: return 0
        }
    }
}

extension ConnectTarget {
    /// Returns the address and port or the socket's path for a timeline, or nil if unknown.
    func peer(_ address: String?) -> String? {
        switch self {
        case .host(_, let port):
            address.flatMap { $0.isEmpty ? nil : "\(ConnectTarget.host($0, port: port))" }
        case .unixSocket(let path): path
        }
    }
}

/// The key for sharing connections, made of an origin and an optional connect target.
struct Destination: Hashable, Sendable {
    let origin: Origin
    let target: ConnectTarget?

    init(_ origin: Origin, at target: ConnectTarget? = nil) {
        self.origin = origin
        self.target = target
    }
}
