// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Validate, SetHeaders and Limits")
struct SmallGateTests {
    private func answer(_ status: HTTPStatus, type: String?, body: String = "x") -> MockTransport {
        MockTransport { _ in
            .status(
                status, headers: type.map { ["Content-Type": $0] } ?? [:], body: Data(body.utf8))
        }
    }

    @Test(
        "Statuses outside the set are refused",
        arguments: [(200, true), (299, true), (199, false), (300, false), (404, false)])
    func statuses(status: Int, accepted: Bool) async {
        let client = Client(answer(HTTPStatus(status), type: nil), [.validate()])
        #expect((await code(of: client.get(anywhere)) == nil) == accepted)
    }

    @Test("A call may have its own rules", arguments: [Stack([.validate()]), Stack()])
    func option(stack: Stack) async {
        let client = Client(answer(404, type: nil), stack)
        #expect(await code(of: client.get(anywhere).validate(status: [404])) == nil)
        #expect(
            await code(of: client.get(anywhere).validate(status: .range(200..<400))) == .validation)
    }

    @Test(
        "The content type must be one that was requested",
        arguments: [
            ("application/json", "application/json; charset=utf-8", true),
            ("application/json", "APPLICATION/JSON", true),
            ("application/json", "text/html", false),
            ("text/*, application/json;q=0.5", "text/csv", true), ("*/*", "a/b", true),
            ("application/json", nil, false), ("application/json;q=0", "application/json", false),
            ("application/json;q=0", "text/html", true),
            // The most specific range decides (RFC 9110 §12.5.1).
            ("*/*, application/json;q=0", "application/json", false),
            ("*/*, application/json;q=0", "text/html", true),
            ("text/*, text/html;q=0", "text/html", false), ("text/*;q=0, */*", "text/csv", false),
            ("text/*;q=0, text/html", "text/html", true), ("*/*;q=0", nil, false),
            ("application/*+json", "application/problem+json", true),
            ("application/json", "nonsense", false),
            ("application/json", "application/problem+json", false), (nil, nil, true),
        ] as [(String?, String?, Bool)])
    func contentTypes(accept: String?, type: String?, accepted: Bool) async {
        let client = Client(answer(200, type: type), [.validate()])
        let call = accept.map { client.get(anywhere).header(.accept, $0) } ?? client.get(anywhere)
        #expect((await code(of: call) == nil) == accepted)
    }

    @Test("The error names the types that are accepted, and not those with a weight of 0")
    func acceptedTypes() async {
        let client = Client(answer(200, type: "text/html"), [.validate()])
        let call = client.get(anywhere).header(.accept, "a/b, text/html;q=0, c/d;q=0.1")
        let error = await #expect(throws: ClientError.self) { try await call.response() }
        #expect(error?.message.hasSuffix(" a/b, c/d") == true)
    }

    @Test("Empty content has no type, and rules can name types or none")
    func emptyAndExplicit() async {
        let empty = Client(answer(200, type: nil, body: ""), [.validate()])
        #expect(await code(of: empty.get(anywhere).header(.accept, "a/b")) == nil)
        let html = Client(
            answer(200, type: "text/html"), [.validate(contentType: .ranges([.json]))])
        #expect(await code(of: html.get(anywhere)) == .validation)
        let none = Client(answer(200, type: "text/html"), [.validate(contentType: .ranges([]))])
        #expect(await code(of: none.get(anywhere)) == .validation)
        let all = Client(answer(200, type: nil), [.validate(contentType: .ranges(["*/*"]))])
        #expect(await code(of: all.get(anywhere)) == nil)
        let never = Client(answer(201, type: nil), [.validate(status: [])])
        #expect(await code(of: never.get(anywhere)) == .validation)
        let any = Client(answer(200, type: "text/html"), [.validate(contentType: .any)])
        #expect(await code(of: any.get(anywhere).header(.accept, "a/b")) == nil)
    }

    @Test("Header fields are set and added, and an invalid one fails the call")
    func setHeaders() async throws {
        let transport = answer(200, type: nil)
        let client = Client(
            transport, [.setHeaders(["X-A": "1", "X-A": "2"], adding: ["X-B": "3"])])
        _ = try await client.get(anywhere, headers: ["X-A": "0", "X-B": "0"]).response()
        #expect(transport.sent.first?.request.headers.values(of: "X-A") == ["1", "2"])
        #expect(transport.sent.first?.request.headers.values(of: "X-B") == ["0", "3"])
        let bad = Client(transport, [.setHeaders(["X-A": "a\nb"])])
        #expect(await code(of: bad.get(anywhere)) == .invalidRequest)
    }

    @Test("Bodies are limited as they arrive, and by their declared length before they are read")
    func bodyLimit() async throws {
        let endless = MockTransport { _ in .stream(Array(repeating: Data(count: 1000), count: 1000))
        }
        let client = Client(endless, [.limits(.init(body: 5000))])
        let late = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).serialize(with: Text())
        }
        #expect(late?.code == .tooLarge && late?.response?.status == 200)
        let response = try await client.get(anywhere).response()
        var seen = 0
        do {
            for try await chunk in response.body { seen += chunk.count }
            Issue.record("ended well")
        } catch ClientError.Code.tooLarge {}
        #expect(seen == 5000)
        let announced = Client(answer(200, type: nil, body: "123456"), [.limits(.init(body: 5))])
        let error = await #expect(throws: ClientError.self) {
            try await announced.get(anywhere).response()
        }
        #expect(error?.code == .tooLarge && error?.response?.status == 200)
        #expect(error?.message.contains("announces 6 bytes of content, more than 5") == true)
        #expect(await code(of: announced.get(anywhere).limits(.init(body: 6))) == nil)
        #expect(
            await code(of: Client(endless, []).get(anywhere).limits(.init(body: 5))) == .tooLarge)
    }

    @Test("Collected content is limited; streams only if a limit is set")
    func collectLimit() async throws {
        let transport = MockTransport { _ in .stream([Data(count: 100)]) }
        let narrow = Client(
            transport,
            [
                Around { request, context, next in
                    context[CollectLimit.self] = 50
                    return try await next(request)
                }, .limits(),
            ])
        #expect(await code(of: narrow.get(anywhere)) == .tooLarge)
        var seen = 0
        for try await chunk in try await narrow.get(anywhere).response().body {
            seen += chunk.count
        }
        #expect(seen == 100)
    }

    @Test("Header sections are bounded in bytes and lines")
    func headerLimits() async {
        let transport = MockTransport { _ in
            .status(200, headers: HTTPHeaders((0..<20).map { ("X-\($0)", "value") }))
        }
        #expect(
            await code(of: Client(transport, [.limits(.init(headerCount: 19))]).get(anywhere))
                == .tooLarge)
        #expect(
            await code(of: Client(transport, [.limits(.init(headers: 200))]).get(anywhere))
                == .tooLarge)
        #expect(await code(of: Client(transport, [.limits()]).get(anywhere)) == nil)
    }

    @Test("The expansion of decoded content is limited")
    func ratio() async throws {
        let gate = Around { request, _, next in
            var response = try await next(request)
            response.body = ResponseBody(
                source: Source(chunks: 300), encodedLength: 20_000)
            return response
        }
        let client = Client(answer(200, type: nil), [.limits(.init(ratio: 100)), gate])
        #expect(await code(of: client.get(anywhere)) == .tooLarge)
        #expect(
            await code(
                of: Client(answer(200, type: nil), [.limits(.init(ratio: 1000)), gate]).get(
                    anywhere)) == nil)
    }

    private final class Source: ResponseBodySource {
        private let left: Countdown
        init(chunks: Int) { left = Countdown(chunks) }
        func next() async throws -> Data? { left.takeOne() ? Data(count: 10_000) : nil }
        func cancel(_ reason: CancelReason) {}
    }

    @Test("An error shows at most a line of a refused content type")
    func longType() async throws {
        let type = "text/e" + String(repeating: "\u{301}", count: 100_000)
        let client = Client(
            MockTransport { _ in .ok(text: "x", headers: ["Content-Type": type]) }, [])
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).validate(contentType: .ranges([.json])).response()
        }
        #expect(error?.code == .validation)
        #expect((error?.message.utf8.count ?? .max) < 500)
    }
}
