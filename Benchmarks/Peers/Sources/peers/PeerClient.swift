// SPDX-License-Identifier: Apache-2.0

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

/// The compared clients.
enum Peer: String, CaseIterable {
    case urlSessionRaw = "urlsession-raw"
    case clientURLSession = "client-urlsession"
    case curl
    case curlStandard = "curl-standard"
    case curlExecutor = "curl-executor"
    case curlStandardExecutor = "curl-standard-executor"
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

    /// Parses names that are separated by commas.
    static func list(_ names: String) throws -> [Peer] {
        try names.split(separator: ",").map { try named(String($0)) }
    }

    /// What this machine lacks for the client; nil if nothing is missing.
    var reasonToLeaveOut: String? {
        switch self {
        case .curl, .curlStandard, .curlExecutor, .curlStandardExecutor, .libcurl:
            Libcurl.isInstalled ? nil : "libcurl is not installed (Debian's package libcurl4)"
        case .wrk:
            Command.find("wrk") == nil ? "wrk is not installed (Debian's package wrk)" : nil
        default: nil
        }
    }

    func takesPart(in workload: Workload) -> Bool {
        switch self {
        // These do not support a custom certificate authority.
        case .urlSessionRaw, .clientURLSession: !workload.isSecure
        // wrk has no HTTP/2. It counts complete requests in a period, and there would be only two
        // or three large ones.
        case .wrk: !workload.isSecure && !workload.isLarge
        default: true
        }
    }
}

/// A client that is ready to send.
struct Sender {
    /// Sends one request and returns the number of bytes received.
    let send: @Sendable () async throws -> Int
    /// The executor of its tasks; nil for the threads of the system.
    var executor: (any TaskExecutor)?
}

extension Peer {
    func sender(_ workload: Workload, _ url: URL, authority: String) throws -> Sender {
        let content = Data(repeating: 0x70, count: workload.postBytes)
        switch self {
        case .urlSessionRaw:
            let configuration = URLSessionConfiguration.default
            configuration.httpMaximumConnectionsPerHost = max(6, workload.concurrency)
            configuration.urlCache = nil
            if workload.isLarge {
                let counter = ByteCounter(configuration)
                return Sender { try await counter.count(url) }
            }
            let session = URLSession(configuration: configuration)
            var request = URLRequest(url: url)
            if workload.postBytes > 0 {
                request.httpMethod = "POST"
                request.httpBody = content
            }
            return Sender { [request] in try await session.data(for: request).0.count }
        case .clientURLSession:
            var configuration = URLSessionTransport.Configuration()
            configuration.maxConnectionsPerHost = workload.concurrency
            let transport = URLSessionTransport(configuration: configuration)
            return Self.sender(Client(transport: transport), workload, url, content)
        case .curl, .curlStandard, .curlExecutor, .curlStandardExecutor:
            var configuration = CurlTransport.Configuration()
            configuration.http2 = .on
            if workload.isSecure { configuration.trust.authorities = .file(authority) }
            let transport = try CurlTransport(configuration: configuration)
            let isBare = self == .curl || self == .curlExecutor
            let runsThere = self == .curlExecutor || self == .curlStandardExecutor
            var sender = Self.sender(
                Client(transport: transport, stack: isBare ? [] : .standard), workload, url,
                content)
            sender.executor = runsThere ? transport.executor : nil
            return sender
        case .ahc1, .ahc2:
            return try Self.asyncHTTPClient(
                loops: self == .ahc1 ? 1 : 2, workload, url, content, authority)
        case .libcurl, .wrk: throw PeerError("\(rawValue) is not a client of this process")
        }
    }

    private static func sender(
        _ client: Client, _ workload: Workload, _ url: URL, _ content: Data
    ) -> Sender {
        let request = Request(
            workload.postBytes > 0 ? .post : .get, Target(url),
            body: workload.postBytes > 0 ? .data(content) : .empty)
        if workload.isLarge {
            return Sender {
                var count = 0
                let call = client.request(request).deadline(.seconds(120))
                for try await chunk in try await call.response().body { count += chunk.count }
                return count
            }
        }
        return Sender { try await client.request(request).data().count }
    }

    private static func asyncHTTPClient(
        loops: Int, _ workload: Workload, _ url: URL, _ content: Data, _ authority: String
    ) throws -> Sender {
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
        return Sender { [request] in
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
