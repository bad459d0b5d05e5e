import AsyncHTTPClient
import CurlLoop
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Turnpike
import TurnpikeCurl

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The clients that are compared.
enum Peer: String, CaseIterable {
    case urlSessionRaw = "urlsession-raw"
    case clientURLSession = "client-urlsession"
    case curl
    case curlStandard = "curl-standard"
    case ahc1 = "ahc-1"
    case ahc2 = "ahc-2"
    case libcurl = "libcurl-c"
    case wrk

    static func named(_ name: String) throws -> Peer {
        guard let peer = Peer(rawValue: name) else {
            throw PeerError(
                "there is no client \(name), but "
                    + allCases.map(\.rawValue).joined(separator: ", "))
        }
        return peer
    }

    /// Names with commas between them.
    static func list(_ names: String) throws -> [Peer] {
        try names.split(separator: ",").map { try named(String($0)) }
    }

    /// What is missing here for it; nil where nothing is.
    var reasonToLeaveOut: String? {
        switch self {
        case .curl, .curlStandard, .libcurl:
            Libcurl.isInstalled ? nil : "libcurl is not installed (Debian's package libcurl4)"
        case .wrk:
            Command.find("wrk") == nil ? "wrk is not installed (Debian's package wrk)" : nil
        default: nil
        }
    }

    func takesPart(in workload: Workload) -> Bool {
        switch self {
        // No certificate authority of one's own.
        case .urlSessionRaw, .clientURLSession: !workload.isSecure
        // No HTTP/2; and it counts whole requests in a time, of which there would be two or three.
        case .wrk: !workload.isSecure && !workload.isLarge
        default: true
        }
    }
}

/// Sends one request and gives the number of bytes that came.
typealias Exchange = @Sendable () async throws -> Int

extension Peer {
    func exchange(_ workload: Workload, _ url: URL, authority: String) throws -> Exchange {
        let content = Data(repeating: 0x70, count: workload.postBytes)
        switch self {
        case .urlSessionRaw:
            let configuration = URLSessionConfiguration.default
            configuration.httpMaximumConnectionsPerHost = max(6, workload.concurrency)
            configuration.urlCache = nil
            if workload.isLarge {
                let counter = ByteCounter(configuration)
                return { try await counter.count(url) }
            }
            let session = URLSession(configuration: configuration)
            var request = URLRequest(url: url)
            if workload.postBytes > 0 {
                request.httpMethod = "POST"
                request.httpBody = content
            }
            return { [request] in try await session.data(for: request).0.count }
        case .clientURLSession:
            var configuration = URLSessionTransport.Configuration()
            configuration.maxConnectionsPerHost = workload.concurrency
            let transport = URLSessionTransport(configuration: configuration)
            return Self.exchange(Client(transport: transport), workload, url, content)
        case .curl, .curlStandard:
            var configuration = CurlTransport.Configuration()
            if workload.isSecure { configuration.trust.authorities = .file(authority) }
            let transport = try CurlTransport(configuration: configuration)
            let stack: Stack = self == .curl ? [] : .standard
            return Self.exchange(
                Client(transport: transport, stack: stack), workload, url, content)
        case .ahc1, .ahc2:
            return try Self.asyncHTTPClient(
                loops: self == .ahc1 ? 1 : 2, workload, url, content, authority)
        case .libcurl, .wrk: throw PeerError("\(rawValue) is no client of this process")
        }
    }

    private static func exchange(
        _ client: Client, _ workload: Workload, _ url: URL, _ content: Data
    ) -> Exchange {
        if workload.postBytes > 0 {
            return { try await client.post(Target(url), body: .data(content)).data().count }
        }
        if workload.isLarge {
            return {
                var count = 0
                let call = client.get(Target(url)).deadline(.seconds(120))
                for try await chunk in try await call.response().body { count += chunk.count }
                return count
            }
        }
        return { try await client.get(Target(url)).data().count }
    }

    private static func asyncHTTPClient(
        loops: Int, _ workload: Workload, _ url: URL, _ content: Data, _ authority: String
    ) throws -> Exchange {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            max(8, workload.concurrency)
        if workload.isSecure {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(authority)
            configuration.tlsConfiguration = tls
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(group), configuration: configuration)
        var request = HTTPClientRequest(url: url.absoluteString)
        if workload.postBytes > 0 {
            request.method = .POST
            request.body = .bytes(ByteBuffer(bytes: content))
        }
        let isLarge = workload.isLarge
        return { [request] in
            let response = try await client.execute(request, timeout: .seconds(120))
            if !isLarge {
                return try await response.body.collect(upTo: 1 << 20).readableBytes
            }
            var count = 0
            for try await chunk in response.body { count += chunk.readableBytes }
            return count
        }
    }
}
