// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

@Suite(
    "HTTP/3 by itself", .needs(CaddyServer.need, if: CaddyServer.isAvailable),
    .timeLimit(.minutes(5)))
struct CurlHTTP3AutomaticTests {
    private func version(
        _ client: Client, _ path: String = "a"
    ) async throws -> String? {
        let response = try await client.get(path).response()
        _ = try await response.body.collect(upTo: 1000)
        return response.head.version
    }

    @Test("An origin's offer is used from the next call on, and for this origin alone")
    func offers() async throws {
        let server = try CaddyServer()
        let client = try server.client(.automatic)
        #expect(try await version(client) != "3")
        #expect(try await version(client) == "3")
        #expect(try await version(client) == "3")
        let other = try CaddyServer()
        #expect(try await version(client, "https://localhost:\(other.port)/") != "3")
    }

    @Test("A client without HTTP/3 does not use the offer")
    func off() async throws {
        let server = try CaddyServer()
        let client = try server.client(.off)
        _ = try await version(client)
        #expect(try await version(client) != "3")
    }

    @Test("Where UDP is dropped, TCP answers, and the offer is forgotten")
    func droppedUDP() async throws {
        let server = try CaddyServer(.upTo2)
        let client = try server.client(.automatic)
        let transport = try #require(client.transport as? CurlTransport)
        let origin = try #require(Request(.get, server.base).origin)
        func offers() -> Bool {
            transport.http3?.alternatives.offersHTTP3(origin, at: SystemTimeSource().now) == true
        }
        #expect(try await version(client) != "3")
        #expect(offers())
        // Content, so that a request that was sent twice would be noticed.
        let response = try await client.post("b", body: .text("once")).response()
        #expect(response.status == 200 && response.head.version != "3")
        #expect(server.upstream.requests(to: "/b").count == 1)
        #expect(!offers())
        #expect(try await version(client) != "3")
        #expect(!offers(), "a new offer has no effect yet")
    }

    @Test("Where UDP is dropped and the server speaks HTTP/1.1 alone, many calls get their answers")
    func droppedUDPWithHTTP1() async throws {
        let server = try CaddyServer(.only1)
        let client = try server.client(.automatic)
        _ = try await version(client)
        try await withThrowingTaskGroup(of: String?.self) { group in
            for index in 0..<20 { group.addTask { try await version(client, "item/\(index)") } }
            for try await version in group { #expect(version == "1.1") }
        }
        #expect(server.upstream.requests.count == 21)
    }

    @Test("After a server has gone away, a repeatable request goes on by TCP")
    func serverGoesAway() async throws {
        let server = try CaddyServer()
        let client = try server.client(.automatic) { $0.connectTimeout = .seconds(2) }
        _ = try await version(client)
        #expect(try await version(client) == "3")
        server.kill()
        await #expect(throws: ClientError.self) { _ = try await version(client) }
        let transport = try #require(client.transport as? CurlTransport)
        let request = Request(.get, server.base)
        let lane = try transport.lane(for: request, at: SystemTimeSource().now)
        #expect(lane.options.http3 == .off)
    }

    @Test("Requests with trailers, a connect target or another scheme use TCP")
    func routes() async throws {
        let transport = try CurlTransport(http3: .automatic)
        let alternatives = try #require(transport.http3?.alternatives)
        let request = Request(.get, "https://localhost/")
        let now = SystemTimeSource().now
        let head = ResponseHead(
            status: 200, headers: ["Alt-Svc": #"h3=":443""#], url: URL(filePath: "/"))
        alternatives.note(head, of: try #require(request.origin), at: now)
        func usesHTTP3(_ change: (inout Request) -> Void) throws -> Bool {
            var request = request
            change(&request)
            return try transport.lane(for: request, at: now).options.http3 == .automatic
        }
        #expect(try usesHTTP3 { _ in })
        #expect(try !usesHTTP3 { $0.options.connectTarget = .host("127.0.0.1", port: 443) })
        #expect(try !usesHTTP3 { $0.body = .text("a").followed(by: ["X-Sum": "1"]) })
        #expect(try !usesHTTP3 { $0 = Request(.get, "http://localhost/") })
    }
}

@Suite("Settings of HTTP/3")
struct CurlHTTP3SettingsTests {
    private func fault(_ configure: (inout CurlTransport.Configuration) -> Void) -> ClientError? {
        var configuration = CurlTransport.Configuration()
        configure(&configuration)
        do {
            _ = try CurlTransport(configuration: configuration)
            return nil
        } catch {
            return error as? ClientError
        }
    }

    @Test("Where no libcurl has HTTP/3, the error names what to install or to link")
    func missing() {
        #if LinkedLibcurl
        let remedy = "link the program with such a libcurl"
        #else
        let remedy = "install libcurl3-gnutls"
        #endif
        for choice in [CurlTransport.HTTP3.automatic, .only] {
            let fault = fault { $0.http3 = choice }
            if (try? CurlLibrary.loadHTTP3()) != nil {
                #expect(fault == nil)
            } else {
                #expect(fault?.code == .unsupported)
                #expect(fault?.message.contains(remedy) == true)
            }
        }
        #expect(fault { $0.http3 = .off } == nil)
    }

    @Test(
        "Settings that exclude each other are refused",
        .needs(CaddyServer.need, if: CaddyServer.isAvailable))
    func contradictions() {
        let faults = [
            fault {
                $0.http3 = .only
                $0.proxy = .through(.init(host: "127.0.0.1", port: 1))
            },
            fault {
                $0.http3 = .automatic
                $0.http2 = .off
            },
            fault {
                $0.http3 = .automatic
                $0.unixSocket = "/tmp/socket"
            },
        ]
        for fault in faults { #expect(fault?.code == .configuration, "\(fault as Any)") }
        #expect(
            fault {
                $0.http3 = .automatic
                $0.proxy = .through(.init(host: "127.0.0.1", port: 1))
            } == nil)
    }
}
