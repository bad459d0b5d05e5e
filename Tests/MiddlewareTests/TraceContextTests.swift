// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("TraceContext")
struct TraceContextTests {
    private let trace = "0af7651916cd43dd8448eb211c80319c"
    private let span = "b7ad6b7169203331"

    private func sent(
        _ stack: Stack, headers: HTTPHeaders = [:], answers: MockStub = .any(.ok()),
        seed: UInt64 = 1
    ) async throws -> [HTTPHeaders] {
        let transport = MockTransport([answers])
        let client = Client(transport, seed: seed, stack)
        _ = try await client.get(anywhere, headers: headers).response()
        return transport.sent.map(\.request.headers)
    }

    private func parents(_ headers: [HTTPHeaders]) throws -> [TraceParent] {
        try headers.map { try #require(TraceParent(parsing: $0["traceparent"] ?? "")) }
    }

    @Test("Each attempt has its own span in the call's trace")
    func attempts() async throws {
        let headers = try await sent(
            [.retry(backoff: Backoff(base: .zero)), .traceContext()],
            answers: .any(.status(503), .connectionLost, .ok()))
        let parents = try parents(headers)
        #expect(parents.count == 3)
        #expect(Set(parents.map(\.traceID)).count == 1)
        #expect(Set(parents.map(\.spanID)).count == 3)
        #expect(parents.allSatisfy { $0.isSampled && $0.isRandom })
        #expect(headers.allSatisfy { $0["tracestate"] == nil })
    }

    @Test("The caller's trace continues, with its state and flags")
    func continues() async throws {
        let headers = try await sent(
            [.traceContext()],
            headers: [
                "traceparent": "00-\(trace)-\(span)-00", "tracestate": "a=1 , ,b@v=x y",
            ])
        let parent = try #require(try parents(headers).first)
        #expect(parent.traceID == trace)
        #expect(parent.spanID != span)
        #expect(!parent.isSampled)
        #expect(!parent.isRandom)
        #expect(headers[0]["tracestate"] == "a=1,b@v=x y")
    }

    @Test("The task's trace context continues, unless the request has its own")
    func ambient() async throws {
        let ambient = TraceParent(parsing: "00-\(trace)-\(span)-03", tracestate: "a=1")
        try await TraceParent.$current.withValue(ambient) {
            let headers = try await sent([.deadline(), .attemptTimeout(), .traceContext()])
            let parent = try #require(try parents(headers).first)
            #expect(parent.traceID == trace)
            #expect(parent.isSampled && parent.isRandom)
            #expect(headers[0]["tracestate"] == "a=1")
            let other = String(repeating: "1", count: 32)
            let own = try await sent(
                [.traceContext()], headers: ["traceparent": "00-\(other)-\(span)-01"])
            #expect(try parents(own).first?.traceID == other)
            #expect(own[0]["tracestate"] == nil)
        }
    }

    @Test(
        "An invalid trace context begins a new trace and drops the state",
        arguments: [
            "", "x", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
            "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            ".0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "000-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-.af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c0-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-.7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b71692033311-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-.0",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-001",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.",
            "00-0af7651916cd43dd8448eb211c80319c-B7ad6b7169203331-01",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.x",
            "00 0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-\u{661}\u{660}",
        ])
    func restarts(text: String) async throws {
        let headers = try await sent(
            [.traceContext()], headers: ["traceparent": text, "tracestate": "a=1"])
        let parent = try #require(try parents(headers).first)
        #expect(parent.traceID != trace)
        #expect(headers[0]["tracestate"] == nil)
        #expect(headers[0].values(of: "traceparent").count == 1)
    }

    @Test("Two traceparent lines are invalid")
    func twoLines() async throws {
        var doubled: HTTPHeaders = ["traceparent": "00-\(trace)-\(span)-01"]
        doubled.append("traceparent", "00-\(trace)-\(span)-01")
        let headers = try await sent([.traceContext()], headers: doubled)
        #expect(try parents(headers).first?.traceID != trace)
        #expect(headers[0].values(of: "traceparent").count == 1)
    }

    @Test("A later version is read as far as it is known, and version 00 is sent")
    func laterVersion() async throws {
        let headers = try await sent(
            [.traceContext()], headers: ["traceparent": "cc-\(trace)-\(span)-ff-what.else"])
        #expect(headers[0]["traceparent"]?.hasPrefix("00-\(trace)-") == true)
        #expect(headers[0]["traceparent"]?.hasSuffix("-03") == true)
    }

    @Test(
        "An invalid tracestate is not passed on",
        arguments: [
            "a", "=1", "a=", "A=1", "a=b=c", "@a=1", "a=\u{e9}", ", ,", "a =1", "a.b=1", "_a=1",
            "a=1,b=", "a=1,b=c=d", "a=1,\u{e9}=1",
            String(repeating: "k", count: 257) + "=1", "k=" + String(repeating: "v", count: 257),
            (0..<33).map { "k\($0)=1" }.joined(separator: ","),
        ])
    func badState(state: String) {
        let parent = TraceParent(parsing: "00-\(trace)-\(span)-01", tracestate: state)
        #expect(parent != nil)
        #expect(parent?.state == nil)
    }

    @Test(
        "A tracestate is parsed by level 2 of the standard",
        arguments: [
            ("a=1", "a=1"), ("a=1,b=2", "a=1,b=2"), (" a=1 \t , \t b=2,c=3 ", "a=1,b=2,c=3"),
            ("a=1,", "a=1"), ("a=1,a=1", "a=1"), ("a=1,b=2,a=3", "a=1,b=2"),
            ("a@=1,b=2", "a@=1,b=2"), ("a@@b=1", "a@@b=1"), ("a@b@c=1", "a@b@c=1"),
            ("1a@b=1", "1a@b=1"),
            ("az09_-*/@az09_-*/= !\"#$%&'()*+-./:;<>?@[\\]^_`{|}~", nil),
            (String(repeating: "z", count: 256) + "=1", nil),
            ("a=" + String(repeating: "v", count: 256), nil),
            ((0..<32).map { "k\($0)=1" }.joined(separator: ","), nil),
        ] as [(String, String?)])
    func goodState(state: String, expected: String?) {
        let parent = TraceParent(parsing: "00-\(trace)-\(span)-01", tracestate: state)
        #expect(parent?.state == expected ?? state)
    }

    @Test("A traceparent may have blanks around it", arguments: [" %", "\t%", "% ", "\t % \t"])
    func blanks(form: String) {
        let text = form.replacingOccurrences(of: "%", with: "00-\(trace)-\(span)-01")
        #expect(TraceParent(parsing: text)?.traceID == trace)
    }

    @Test(
        "Several tracestate lines are one list, and an empty line adds nothing",
        arguments: [
            (["a=1,b=2", "c=3,d=4", "e=5"], "a=1,b=2,c=3,d=4,e=5"), (["a=1", ""], "a=1"),
            (["", "a=1"], "a=1"), (["a=1 \t", "\t b=2"], "a=1,b=2"), (["a=1", "a=2"], "a=1"),
            ([""], nil), (["a=1", "b"], nil),
            (
                (0..<4).map { line in
                    (0..<8).map { "k\(line)\($0)=1" }.joined(separator: ",")
                },
                (0..<4).flatMap { line in (0..<8).map { "k\(line)\($0)=1" } }
                    .joined(separator: ",")
            ),
            ((0..<33).map { "k\($0)=1" }, nil),
        ] as [([String], String?)])
    func lines(lines: [String], expected: String?) async throws {
        var headers: HTTPHeaders = ["TraceParent": "00-\(trace)-\(span)-00"]
        for line in lines { headers.append("TraceState", line) }
        let sent = try await sent([.traceContext()], headers: headers)[0]
        #expect(try parents([sent])[0].traceID == trace)
        #expect(sent.values(of: "tracestate") == (expected.map { [$0] } ?? []))
    }

    @Test("A tracestate without a traceparent is not passed on")
    func stateAlone() async throws {
        let sent = try await sent([.traceContext()], headers: ["tracestate": "a=1"])[0]
        #expect(sent["traceparent"] != nil && sent["tracestate"] == nil)
    }

    @Test("A tracestate that is too long loses long members first, then the last ones")
    func longState() {
        let long = "long=" + String(repeating: "v", count: 200)
        let many = (0..<31).map { "k\($0)=" + String(repeating: "v", count: 20) }
        let text = ([many[0], long] + many.dropFirst()).joined(separator: ",")
        let parent = TraceParent(parsing: "00-\(trace)-\(span)-01", tracestate: text)
        let state = parent?.state ?? ""
        #expect(state.utf8.count <= 512)
        #expect(state.hasPrefix(many[0] + "," + many[1]))
        #expect(!state.contains("long"))
    }

    @Test("A share of new traces is sampled, by the call's random numbers")
    func sampling() async throws {
        func marks(_ sampling: Double) async throws -> Int {
            var marked = 0
            for seed in 0..<200 {
                let headers = try await sent(
                    [.traceContext(sampling: sampling)], seed: UInt64(seed))
                marked += try parents(headers).count(where: \.isSampled)
            }
            return marked
        }
        #expect(try await marks(0) == 0)
        #expect(try await marks(1) == 200)
        #expect((60...140).contains(try await marks(0.5)))
    }

    @Test("A recorder inside finds the span of its attempt")
    func spans() async throws {
        let seen = MemoryLogSink()
        let headers = try await sent(
            [
                .retry(backoff: Backoff(base: .zero)), .traceContext(),
                Around { request, context, next in
                    seen.write(context[TraceContext.Span.self]?.description ?? "none")
                    return try await next(request)
                },
            ], answers: .any(.status(503), .ok()))
        #expect(seen.lines == headers.map { $0["traceparent"] })
    }
}
