// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import Testing
import Turnpike
import TurnpikeAsyncHTTPClient
import TurnpikeTesting

@Suite("Redirects over async-http-client", .timeLimit(.minutes(2)))
struct RedirectTests {
    @Test(
        "An HTTPClient that follows redirects does not, and the head comes",
        arguments: [301, 302, 303, 304, 305, 307, 308], [0, 5, 5000])
    func isStopped(_ status: Int, _ count: Int) async throws {
        try await withBridge { bridge in
            bridge.server.route(
                "/",
                .status(
                    HTTPStatus(status), headers: ["Location": "/elsewhere", "X-A": "1"],
                    body: Data(count: count)))
            bridge.server.route("/elsewhere", .ok(text: "followed"))
            let response = try await bridge.client.get("/").response()
            #expect(response.status.code == status)
            #expect(response.headers["X-A"] == "1")
            if count == 0 || status == 304 {
                #expect(try await response.body.collect(upTo: 10_000).isEmpty)
            } else {
                let error = try await failure { _ = try await response.body.collect(upTo: 10_000) }
                #expect(error.code == .unsupported)
                #expect(error.message.contains(".disallow"))
            }
            #expect(bridge.server.requests.map(\.path) == ["/"])
        }
    }

    @Test("The gate follows what the HTTPClient must not, and keeps credentials at home")
    func gate() async throws {
        try await withBridge { bridge in
            let other = try TestServer()
            defer { other.stop() }
            other.route("/there", .ok(text: "arrived"))
            bridge.server.route("/", .redirect(302, to: "\(other.url.absoluteString)there"))
            bridge.client.replace(stack: [.redirect()])
            let call = bridge.client.get("/", headers: ["Authorization": "Bearer secret"])
            #expect(try await bridge.content(call) == Data("arrived".utf8))
            #expect(other.requests.count == 1)
            #expect(other.requests.first?.headers[.authorization] == nil)
        }
    }

    @Test("An HTTPClient that returns redirects gives their content, too")
    func returned() async throws {
        let configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        try await withBridge(configuration, traits: .returnsRedirects) { bridge in
            bridge.server.route("/", .redirect(302, to: "/elsewhere"))
            let content = try await bridge.content(bridge.client.get("/"))
            #expect(content == Data("moved".utf8))
            #expect(bridge.server.requests.count == 1)
        }
    }

    @Test("An HTTPClient of which the wrong thing was said is told of")
    func misjudged() async throws {
        try await withBridge(traits: .returnsRedirects) { bridge in
            bridge.server.route("/", .redirect(302, to: "/elsewhere"))
            bridge.server.route("/elsewhere", .ok(text: "followed"))
            let error = try await failure {
                _ = try await bridge.content(bridge.client.get("/"))
            }
            #expect(error.code == .configuration)
            #expect(error.transfer?.isUnsent == false)
        }
    }
}
