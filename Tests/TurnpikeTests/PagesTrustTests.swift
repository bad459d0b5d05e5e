// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

@Suite("Pages, by who names the next one")
struct PagesTrustTests {
    private func failure(_ pages: some AsyncSequence<[Int], any Error>) async -> ClientError? {
        var iterator = pages.makeAsyncIterator()
        do {
            while try await iterator.next() != nil {}
            return nil
        } catch { return error as? ClientError }
    }

    @Test("A page that came from another origin names no page of the first one")
    func redirected() async throws {
        let transport = MockTransport { request in
            switch request.targetURI.absoluteForm {
            case "http://a.example/n":
                .status(302, headers: ["Location": "http://b.example/n"])
            case "http://b.example/n":
                .ok(json: [1], headers: ["Link": "<http://a.example/secret>; rel=next"])
            default: .ok(json: [2])
            }
        }
        let client = Client(transport: transport, stack: [.redirect()])
        let error = await failure(
            client.get("http://a.example/n", headers: ["Authorization": "Bearer t"])
                .pages(of: [Int].self))
        #expect(error?.code == .validation)
        #expect(error?.message.contains("another origin") == true, "\(error?.message ?? "")")
        #expect(transport.sent.map { $0.request.targetURI.originForm } == ["/n", "/n"])
    }

    @Test("A link to https, from a page that was redirected to https, is followed")
    func upgraded() async throws {
        let transport = MockTransport { request in
            switch request.targetURI.absoluteForm {
            case "http://a.example/n":
                .status(302, headers: ["Location": "https://a.example/n"])
            case "https://a.example/n": .ok(json: [1], headers: ["Link": "</m>; rel=next"])
            default: .ok(json: [2])
            }
        }
        let client = Client(transport: transport, stack: [.redirect()])
        let error = await failure(client.get("http://a.example/n").pages(of: [Int].self))
        #expect(error == nil)
        #expect(transport.sent.last?.request.targetURI.absoluteForm == "https://a.example/m")
    }

    @Test("A gate may set the origin of the first page, even if the server redirects the request")
    func redirectedBelowBase() async throws {
        let transport = MockTransport { request in
            switch request.targetURI.absoluteForm {
            case "https://a.example/n": .status(302, headers: ["Location": "/n/"])
            case "https://a.example/n/": .ok(json: [1], headers: ["Link": "</m>; rel=next"])
            default: .ok(json: [2])
            }
        }
        let client = Client(
            transport: transport, stack: [.baseURL("https://a.example/"), .redirect()])
        let error = await failure(client.get("n").pages(of: [Int].self))
        #expect(error == nil)
        #expect(transport.sent.last?.request.targetURI.absoluteForm == "https://a.example/m")
    }

    @Test("The next page goes to the URL of the first request, and not to that of a redirect")
    func postedBelowBase() async throws {
        let transport = MockTransport { request in
            request.method == .post && request.targetURI.originForm == "/search"
                ? .status(303, headers: ["Location": "/transfer"]) : .ok(json: [1])
        }
        let client = Client(
            transport: transport, stack: [.baseURL("https://a.example/"), .redirect()])
        let error = await failure(
            client.post("search", body: .text("q1")).pages(of: [Int].self, limit: 2) { _, _ in
                .body(.text("q2"))
            })
        #expect(error?.code == .tooLarge)
        #expect(
            transport.sent.map { "\($0.request.method) \($0.request.targetURI.originForm)" }
                == ["POST /search", "GET /transfer", "POST /search", "GET /transfer"])
    }

    @Test("A POST is not repeated to a path that the server chose, unless the caller allows it")
    func posted() async throws {
        for isAllowed in [false, true] {
            let transport = MockTransport { request in
                request.targetURI.originForm == "/search"
                    ? .ok(json: [1], headers: ["Link": "</transfer>; rel=next"]) : .ok(json: [2])
            }
            var call = Client(transport: transport, stack: [])
                .post("http://a.example/search", body: .text("q"))
            if isAllowed { call = call.retryable() }
            let error = await failure(call.pages(of: [Int].self))
            #expect(error?.code == (isAllowed ? nil : .validation))
            #expect(transport.sent.count == (isAllowed ? 2 : 1))
        }
    }
}
