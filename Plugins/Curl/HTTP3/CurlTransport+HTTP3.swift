// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension CurlTransport {
    /// The rule for the use of HTTP/3 (RFC 9114).
    ///
    /// HTTP/3 needs one of the libcurls in <doc:HTTP2OverLibcurl>. Without one of these libcurls,
    /// the creation of the transport fails as ``/TurnpikeCore/ClientError/Code/unsupported``.
    /// HTTP/3 uses no proxy and no Unix socket. A request is never sent in TLS early data (0-RTT).
    public enum HTTP3: String, Sendable, CaseIterable {
        /// Never uses HTTP/3.
        case off
        /// Uses HTTP/3 for an origin that has offered HTTP/3 at the same host and port (`Alt-Svc`,
        /// RFC 7838).
        ///
        /// If HTTP/3 does not answer soon, libcurl tries TCP too. If HTTP/3 fails, the origin's
        /// requests use TCP for five minutes. Upgrades, and requests with a connect target or with
        /// trailers, always use TCP.
        case automatic
        /// Always uses HTTP/3. URLs other than https, request trailers and upgrades fail as
        /// ``/TurnpikeCore/ClientError/Code/unsupported``.
        case only
    }

    /// Creates a transport with the default configuration except for HTTP/3.
    /// - Parameter http3: The rule for the use of HTTP/3.
    /// - Throws: The errors of ``init(configuration:)``.
    public convenience init(http3: HTTP3) throws {
        var configuration = Configuration()
        configuration.http3 = http3
        try self.init(configuration: configuration)
    }

    /// Returns the options for most requests, and the options for origins that offer HTTP/3.
    static func options(
        _ configuration: Configuration
    ) throws -> (usual: CurlOptions, http3: CurlOptions?) {
        switch configuration.http3 {
        case .off: (try CurlOptions(configuration, library: .load()), nil)
        case .automatic:
            (
                try CurlOptions(configuration, library: .load()),
                try CurlOptions(configuration, library: .loadHTTP3(), http3: .automatic)
            )
        case .only: (try CurlOptions(configuration, library: .loadHTTP3(), http3: .only), nil)
        }
    }

    func lane(for request: Request, at now: MonotonicInstant) throws -> CurlLane {
        if lane.options.http3 == .only {
            guard request.origin?.scheme == "https", !request.body.hasTrailers,
                request.options.upgrade == nil
            else {
                throw ClientError(
                    .unsupported,
                    "HTTP/3 cannot send http, upgrades or trailers here; set http3 to \"automatic\""
                )
            }
            return lane
        }
        guard let http3, let origin = alternativeOrigin(of: request), !request.body.hasTrailers,
            http3.alternatives.offersHTTP3(origin, at: now)
        else { return lane }
        return http3.lane
    }

    /// Returns the origin whose offers apply to a request, or nil if none apply.
    func alternativeOrigin(of request: Request) -> Origin? {
        guard let origin = request.origin, origin.scheme == "https",
            request.options.connectTarget == nil, !lane.options.proxies.route(origin)
        else { return nil }
        return origin
    }
}

final class CurlLane: Sendable {
    let options: CurlOptions
    let engines: [CurlEngine]

    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if libcurl refuses an option.
    init(_ options: CurlOptions) throws {
        self.options = options
        var engines: [CurlEngine] = []
        do {
            for _ in 0..<max(1, options.configuration.engines) {
                engines.append(try CurlEngine(options: options))
            }
        } catch {
            // Without `stop`, the threads of the other engines would continue.
            for engine in engines { engine.stop() }
            throw error
        }
        self.engines = engines
    }

    /// Returns one engine for all requests to an origin or endpoint, which share connections.
    func engine(for request: Request, at target: ConnectTarget?) -> CurlEngine {
        if engines.count == 1 { return engines[0] }
        let hash = request.origin.map { Destination($0, at: target).hashValue } ?? 0
        return engines[Int(UInt(bitPattern: hash) % UInt(engines.count))]
    }
}

/// The engines for origins that offer HTTP/3, and the offers of the origins.
///
/// These engines have their own connections. On shared connections, libcurl would continue to use
/// the TCP connection of the response that has offered HTTP/3.
struct HTTP3Lane: Sendable {
    let lane: CurlLane
    let alternatives = AlternativeServices()
}
