// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Redirect policies")
struct RedirectPolicyTests {
    private let transport = MockTransport { request in
        switch request.url.path() {
        case "/x":
            .status(302, headers: ["Location": "http://b.example/y"], body: Data("moved".utf8))
        case "/y": .status(307, headers: ["Location": "/z"])
        default: .ok(text: "end")
        }
    }

    private func client(
        _ policy: @escaping @Sendable (RedirectProposal) async throws -> RedirectDecision
    ) -> Client {
        Client(transport, [.redirect(onRedirect: policy)])
    }

    @Test("A policy sees each hop with the request that would be sent")
    func proposals() async throws {
        let client = client { proposal in
            #expect(proposal.hop == (proposal.response.status == 302 ? 1 : 2))
            #expect(proposal.changesOrigin == (proposal.hop == 1))
            #expect(proposal.following.headers.contains(.authorization) == false)
            #expect(proposal.request.headers.contains(.authorization) == (proposal.hop == 1))
            return .follow
        }
        let response = try await client.get(anywhere, headers: ["Authorization": "s"]).response()
        #expect(response.status == 200 && response.hops.count == 2)
        #expect(try await response.body.collect(upTo: 100) == Data("end".utf8))
    }

    @Test("A policy may return the redirect with its body")
    func answer() async throws {
        let client = client { $0.changesOrigin ? .answer : .follow }
        let response = try await client.get(anywhere).response()
        #expect(response.status == 302)
        #expect(try await response.body.collect(upTo: 100) == Data("moved".utf8))
        #expect(transport.sentCount == 1)
    }

    @Test("A policy may refuse a redirect with its own message")
    func refuse() async throws {
        let error = await #expect(throws: ClientError.self) {
            try await client { _ in .refuse("not today") }.get(anywhere).response()
        }
        #expect(error?.code == .redirect)
        #expect(error?.message.contains("not today") == true)
        #expect(error?.response?.status == 302)
    }

    @Test("A policy may send another request, within the rules")
    func send() async throws {
        let client = client { proposal in
            var other = proposal.following
            other.url = URL(string: "https://c.example/other") ?? other.url
            other.headers["X-Own"] = "1"
            return .send(other)
        }
        let response = try await client.get(anywhere).response()
        #expect(response.url.absoluteString == "https://c.example/other")
        #expect(transport.sent.last?.request.headers["X-Own"] == "1")
    }

    @Test(
        "The rules also apply to a request of the policy",
        arguments: ["http://a.example/x", "ftp://a.example/", "http:///"])
    func rulesHold(url: String) async throws {
        let url = try #require(URL(string: url))
        let client = client { proposal in
            var other = proposal.following
            other.url = url
            return .send(other)
        }
        #expect(await code(of: client.get(anywhere)) == .redirect)
        #expect(transport.sentCount == 1)
    }

    @Test("An upgrade to https by an inner gate does not change the origin; another host does")
    func movedInside() async throws {
        let secret: HTTPHeaders = ["Authorization": "s"]
        for (elsewhere, keeps) in [("https://a.example/x", true), ("https://m.example/x", false)] {
            let url = try #require(URL(string: elsewhere))
            let transport = MockTransport { request in
                request.url.path() == "/x" ? .status(302, headers: ["Location": "y"]) : .ok()
            }
            let move = Around { request, _, next in
                var request = request
                if request.url.path() == "/x" { request.url = url }
                return try await next(request)
            }
            let response = try await Client(transport, [.redirect(), move])
                .get(anywhere, headers: secret).response()
            #expect(response.url.scheme == "https")
            #expect(transport.sent.last?.request.headers.contains(.authorization) == keeps)
        }
    }

    @Test("Random chains never carry a credential off its origin")
    func credentialLaw() async throws {
        let hosts = ["a.example", "b.example", "sub.a.example", "a.example:81", "A.EXAMPLE:80"]
        try await forAllSeeds { generator in
            let chain = (0..<generator.int(1...8)).map { hop in
                generator.pick(["http", "https"]) + "://" + generator.pick(hosts) + "/\(hop)"
            }
            let statuses = chain.map { _ in generator.pick([301, 302, 303, 307, 308]) }
            let transport = MockTransport { request in
                guard let hop = Int(request.url.lastPathComponent), hop + 1 < chain.count else {
                    return .ok()
                }
                let status = HTTPStatus(statuses[hop])
                return .status(status, headers: ["Location": chain[hop + 1]])
            }
            let client = Client(transport, [.redirect(limit: 20, allowDowngrade: true)])
            let method: HTTPMethod = generator.pick([.get, .post, .put])
            let secrets: HTTPHeaders = [
                "Authorization": "s", "Cookie": "s", "X-Api-Key": "s", "Proxy-Authorization": "s",
            ]
            _ = try await client.request(method, Target(chain[0]), headers: secrets).response()
            let sent = transport.sent.map(\.request)
            if sent.count != chain.count { return "\(chain): \(sent.count) sends" }
            let first = sent.first?.origin
            var hasLeft = false
            for request in sent {
                hasLeft = hasLeft || request.origin != first
                let carries = secrets.contains { request.headers.contains($0.name) }
                if carries == hasLeft { return "\(chain) \(statuses): wrong at \(request.url)" }
            }
            return nil
        }
    }

    @Test("No Location traps, and none leads to a scheme other than http and https")
    func noise() async throws {
        let pieces = [
            "http:", "https:", "//", "/", "\\", "@", ":", "?", "#", "%", "%2e", "..", "[", "]",
            "a.example",
            "::1", "99999", "file:", " ", "é", "javascript:",
        ]
        try await forAllSeeds { generator in
            let location = generator.noise(pieces)
            let transport = MockTransport { request in
                request.url.path() == "/start"
                    ? .status(302, headers: ["Location": location]) : .ok()
            }
            _ = await code(of: Client(transport, [.redirect()]).get("https://a.example/start"))
            let last = transport.sent.last?.request
            return last?.url.scheme == "https"
                ? nil : "\(location) led to \(String(describing: last))"
        }
    }
}
