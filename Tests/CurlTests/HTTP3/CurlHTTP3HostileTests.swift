// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// What a server does with a response, and how the call may end.
struct ServerScript: Sendable {
    enum End: Equatable {
        case content(Int, status: HTTPStatus = 200)
        case failure([ClientError.Code])

        static func fails(_ codes: ClientError.Code...) -> End { .failure(codes) }
    }

    let name: String
    let steps: String
    let end: End

    init(_ name: String, _ end: End, _ steps: String) {
        self.name = name
        self.steps = steps
        self.end = end
    }

    /// A head with more fields, content of 5 bytes, and the end.
    static func head(_ name: String, _ end: End, _ fields: String) -> ServerScript {
        ServerScript(name, end, #"["head", [\#(fields)]], ["data", 5], ["fin"]"#)
    }

    // libcurl 8.14 does not say whether the server has ended a stream, or libcurl itself.
    static let invalid = End.fails(.protocol, .connection)

    static let ok = #"["head", [[":status", "200"]]]"#
    static let five = #"["head", [[":status", "200"], ["content-length", "5"]]]"#

    static let streams = [
        ServerScript("reset before the head", .fails(.connection), #"["reset", 258]"#),
        ServerScript("cancelled before the head", .fails(.connection), #"["reset", 268]"#),
        ServerScript(
            "reset without error before the head", .fails(.connection), #"["reset", 256]"#),
        ServerScript(
            "reset in content", .fails(.incomplete),
            #"\#(ok), ["data", 5], ["ping"], ["reset", 258]"#),
        ServerScript(
            "rejected in content", .fails(.incomplete),
            #"\#(ok), ["data", 5], ["ping"], ["reset", 267]"#),
        ServerScript(
            "reset without error in content of known length", .fails(.incomplete),
            #"\#(five), ["data", 2], ["ping"], ["reset", 256]"#),
        ServerScript(
            "reset after all content", .content(5),
            #"\#(five), ["data", 5], ["ping"], ["reset", 258]"#),
        ServerScript("no head", .fails(.protocol), #"["fin"]"#),
        ServerScript(
            "no final head", .fails(.protocol), #"["head", [[":status", "103"]]], ["fin"]"#),
        ServerScript(
            "interim heads", .content(5),
            #"["head", [[":status", "103"]]], ["head", [[":status", "102"]]], \#(ok), ["data", 5], ["fin"]"#
        ),
        ServerScript(
            "the connection closes before the head", .fails(.connection), #"["close", 258]"#),
        ServerScript(
            "the connection closes in content", .fails(.incomplete),
            #"\#(ok), ["data", 5], ["ping"], ["close", 256]"#),
        ServerScript(
            "the connection closes after all content", .content(5),
            #"\#(five), ["data", 5], ["ping"], ["close", 256]"#),
        ServerScript("short content", .fails(.incomplete), #"\#(five), ["data", 4], ["fin"]"#),
        ServerScript("long content", .fails(.incomplete), #"\#(five), ["data", 6], ["fin"]"#),
        ServerScript(
            "content within a frame that is not complete", .fails(.protocol),
            #"\#(ok), ["raw", "000a6161"], ["fin"]"#),
        ServerScript(
            "content before the head", .fails(.protocol), #"["data", 5], \#(ok), ["fin"]"#),
        ServerScript(
            "SETTINGS on the stream", .fails(.protocol), #"\#(ok), ["raw", "0400"], ["fin"]"#),
        ServerScript(
            "a field section that is no QPACK", .fails(.protocol), #"["raw", "0104ffffffff"]"#),
        ServerScript(
            "frames of an unknown type", .content(5),
            #"["raw", "2102aaaa"], \#(ok), ["raw", "2102aaaa"], ["data", 5], ["fin"]"#),
        ServerScript("290 fields of 1,000 bytes", .content(0), #"["many", 290], ["fin"]"#),
        ServerScript("400 fields of 1,000 bytes", .fails(.tooLarge), #"["many", 400], ["fin"]"#),
        ServerScript(
            "a trailer with a status", .failure([.protocol, .incomplete]),
            #"\#(ok), ["data", 5], \#(ok), ["fin"]"#),
        ServerScript("no response", .fails(.deadlineExceeded), ""),
    ]

    static let heads = [
        head("a status after the fields", .fails(.protocol), #"["a", "b"], [":status", "200"]"#),
        head("no status", .fails(.protocol), #"["a", "b"]"#),
        head("two statuses", invalid, #"[":status", "200"], [":status", "200"]"#),
        head("a pseudo-field of requests", invalid, #"[":status", "200"], [":path", "/"]"#),
        head("a name in capitals", invalid, #"[":status", "200"], ["Upper", "b"]"#),
        head("Connection", invalid, #"[":status", "200"], ["connection", "close"]"#),
        head(
            "Transfer-Encoding", invalid, #"[":status", "200"], ["transfer-encoding", "chunked"]"#),
        head("99", invalid, #"[":status", "99"]"#),
        head("099", invalid, #"[":status", "099"]"#),
        head("1000", invalid, #"[":status", "1000"]"#),
        head("a blank before the status", invalid, #"[":status", " 200"]"#),
        head("101", invalid, #"[":status", "101"]"#),
        head("999", .content(5, status: 999), #"[":status", "999"]"#),
        head("a 204 with a length", invalid, #"[":status", "204"], ["content-length", "5"]"#),
        head("a 204 with content", .content(0, status: 204), #"[":status", "204"]"#),
        head(
            "two lengths", invalid,
            #"[":status", "200"], ["content-length", "5"], ["content-length", "6"]"#),
        // Their fields are dropped.
        head("a name that begins with a blank", .content(5), #"[":status", "200"], [" a", "b"]"#),
        head("a value with a line", .content(5), #"[":status", "200"], ["a", "b\r\nc: d"]"#),
        head("a name with a line", .content(5), #"[":status", "200"], ["a\r\nc", "d"]"#),
    ]

    static let uploads = [
        ServerScript("read", .content(5), #"["read"], \#(five), ["data", 5], ["fin"]"#),
        ServerScript(
            "stopped, and refused", .content(5, status: 413),
            #"["stop", 256], ["head", [[":status", "413"], ["content-length", "5"]]], ["data", 5], ["fin"]"#
        ),
        ServerScript(
            "refused, and stopped", .content(5, status: 413),
            #"["head", [[":status", "413"]]], ["data", 5], ["fin"], ["stop", 256]"#),
        ServerScript(
            "stopped, and accepted", .content(5),
            #"["stop", 256], ["ping"], \#(five), ["data", 5], ["fin"]"#),
        ServerScript("stopped, and reset", .fails(.connection), #"["stop", 268], ["reset", 268]"#),
        ServerScript("stopped without a response", .fails(.deadlineExceeded), #"["stop", 268]"#),
    ]
}

@Suite(
    "HTTP/3 with servers that break rules",
    .needs(ScriptedHTTP3Server.need, if: ScriptedHTTP3Server.isAvailable), .timeLimit(.minutes(5)))
struct CurlHTTP3HostileTests {
    private let server: ScriptedHTTP3Server

    init() throws { server = try ScriptedHTTP3Server() }

    private var version: UInt32 { get throws { try CurlLibrary.loadHTTP3().version } }

    private func call(
        _ client: Client, _ attempts: String..., to path: String = "a", body: Data? = nil
    ) -> Call {
        let steps = "[" + attempts.map { "[\($0)]" }.joined(separator: ", ") + "]"
        let call =
            if let body { client.post(Target(path), body: .data(body)) } else {
                client.get(Target(path))
            }
        return call.header("x-steps", steps)
    }

    private func end(of call: Call) async -> ServerScript.End {
        do {
            let response = try await call.response()
            let count = try await response.body.collect(upTo: 1 << 20).count
            return .content(count, status: response.status)
        } catch {
            return .failure([(error as? ClientError)?.code ?? .init(rawValue: "\(error)")])
        }
    }

    /// Runs each script with a client of its own, whose next call must succeed.
    private func run(_ scripts: [ServerScript], body: Data? = nil) async throws {
        for (number, script) in scripts.enumerated() {
            let client = try server.client()
            let isOpen = script.end == .fails(.deadlineExceeded)
            let call = call(client, script.steps, to: "\(number)", body: body)
                .deadline(.seconds(isOpen ? 0.3 : 20))
            let end = await end(of: call)
            if case .failure(let codes) = script.end, case .failure(let found) = end {
                #expect(codes.contains(found[0]), "\(script.name): \(found)")
            } else {
                #expect(end == script.end, "\(script.name)")
            }
            #expect(await self.end(of: client.get("after/\(number)")) == .content(2))
        }
        let arrivals = try await server.state().arrivals
        #expect(arrivals.count == 2 * scripts.count && arrivals.values.allSatisfy { $0 == 1 })
    }

    @Test("A response is complete or an error, and later calls succeed")
    func responses() async throws { try await run(ServerScript.streams + ServerScript.heads) }

    @Test("An upload that the server stops ends with the server's response")
    func uploads() async throws {
        try await run(ServerScript.uploads, body: Data(count: 4 << 20))
    }

    @Test("A request that the server has rejected is sent again, if libcurl says so")
    func rejected() async throws {
        let steps = #"["reset", 267]"#
        let isKnown = try version >= 0x08_1100
        for (path, body) in [("get", nil), ("post", Data("x".utf8))] {
            let end = await end(
                of: call(
                    try server.client(), steps, "\(ServerScript.ok), [\"fin\"]", to: path,
                    body: body))
            #expect(end == (isKnown ? .content(0) : .fails(.connection)))
            #expect(try await server.state().arrivals["/" + path] == (isKnown ? 2 : 1))
        }
        // Other reasons do not mean that the server has not acted on the request.
        let other = call(try server.client(), #"["reset", 258]"#, to: "other", body: Data("x".utf8))
        #expect(await end(of: other) == .fails(.connection))
        #expect(try await server.state().arrivals["/other"] == 1)
    }

    @Test(
        "After a GOAWAY, requests go to a new connection, and the earlier ones get their responses")
    func goAway() async throws {
        let client = try server.client()
        let slow = try await call(
            client,
            #"["goaway"], ["ping"], \#(ServerScript.ok), ["data", 2], ["wait"], ["data", 2], ["fin"]"#
        ).response()
        let posts = try await withThrowingTaskGroup(of: Bool?.self) { group in
            for number in 0..<5 {
                group.addTask {
                    let call = client.post("post/\(number)", body: .text("x"))
                    return try await call.response().timeline.isConnectionReused
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(posts.contains(false))
        #expect(
            await end(of: call(client, #"["open"], \#(ServerScript.ok), ["fin"]"#, to: "b"))
                == .content(0))
        #expect(try await slow.body.collect(upTo: 100).count == 4)
        let state = try await server.state()
        #expect(state.arrivals.count == 7 && state.arrivals.values.allSatisfy { $0 == 1 })
    }

    @Test("A connection that has closed is not used again, and nothing is sent as early data")
    func closed() async throws {
        let client = try server.client()
        for number in 1...3 {
            // If libcurl uses the connection all the same, the request is sent again.
            let response = try await client.get(Target("\(number)")).response()
            #expect(response.timeline.isConnectionReused == false)
            #expect(try await response.body.collect(upTo: 10).count == 2)
            let closing = #"["close others", 256], \#(ServerScript.ok), ["fin"]"#
            #expect(await end(of: call(try server.client(), closing)) == .content(0))
        }
        let state = try await server.state()
        #expect(state.arrivals == ["/1": 1, "/2": 1, "/3": 1, "/a": 3])
        #expect(state.early.count > 6 && !state.early.contains(true))
    }

    @Test("Among 200 calls at once, those that are reset leave the others alone")
    func many() async throws {
        let client = try server.client { $0.maxStreamsPerConnection = 100 }
        let reset = #"\#(ServerScript.ok), ["data", 2], ["ping"], ["reset", 258]"#
        let ends = await withTaskGroup(of: ServerScript.End.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let path = "\(number)"
                    guard number % 10 == 0 else { return await end(of: client.get(Target(path))) }
                    return await end(of: call(client, reset, to: path))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(ends.count { $0 == .content(2) } == 180)
        #expect(ends.count { $0 == .fails(.incomplete) } == 20)
        let arrivals = try await server.state().arrivals
        #expect(arrivals.count == 200 && arrivals.values.allSatisfy { $0 == 1 })
    }

    @Test("The figures of connections have the version")
    func version() async throws {
        let store = MetricsStore()
        let client = try server.client { $0.meter = store }
        #expect(await end(of: client.get("a")) == .content(2))
        await client.shutdown()
        let labels = ["network.protocol.version": "3"]
        #expect(store.sum("turnpike.connections.opened", labels) == 1)
    }
}
