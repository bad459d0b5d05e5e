// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeTesting

/// Shows one fault of FoundationNetworking that no client can repair.
///
/// `turnpike-fault trailers|close-in-head|huge-length|many-fields|endless-redirect|held-upload|second-head|late-cancel`
///
/// It ends by a signal, or with 3, where the fault is there, and with 0 where it is gone. The list
/// of faults is `Tests/URLSessionFaults.json`.
@main
enum Fault {
    private static let isThere: Int32 = 3

    static func main() async {
        do {
            exit(try await show(CommandLine.arguments.last ?? "") ? isThere : 0)
        } catch {
            FileHandle.standardError.write(Data("turnpike-fault: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func show(_ name: String) async throws -> Bool {
        let server = try TestServer()
        let client = Client(baseURL: server.target, stack: [])
        switch name {
        case "trailers":
            server.route(
                "/", raw("Transfer-Encoding: chunked", "\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n"))
        case "close-in-head": server.route("/", raw("X-Half: 1", ""))
        case "huge-length":
            server.route("/", raw("Content-Length: 9223372036854775807", "\r\nabc"))
        case "many-fields":
            // Four times the lines take four times as long, or else sixteen times.
            let few = await time(fields: 2500, client, server)
            return await time(fields: 10_000, client, server) > few * 8
        case "endless-redirect":
            server.route(
                "/", .endless(every: .zero, status: 302, headers: ["Location": "/elsewhere"]))
            return try await keepsConnection(client, server)
        case "held-upload":
            let small = try await cost(ofUploading: 65_000, client, server)
            return try await cost(ofUploading: 70_000, client, server) > small + 0.25
        case "second-head":
            server.route("/", .ok(text: "x"), .close)
            _ = try await client.get("/").data()
            _ = try? await client.post("/", body: .text("x")).data()
            try await server.wait { $0.open == 0 }
            return server.requests.count { $0.method == .post } == 2
        case "late-cancel": return try await sendsWhole(client, server)
        default: throw FaultFailure(description: "there is no fault \"\(name)\"")
        }
        // An error in place of the trap is as good as an answer.
        _ = try? await client.get("/").data()
        return false
    }

    private static func time(
        fields count: Int, _ client: Client, _ server: TestServer
    ) async -> Duration {
        let fields = (0..<count).map { "X-\($0): 1" }.joined(separator: "\r\n")
        server.route("/", raw(fields + "\r\nContent-Length: 0", "\r\n"))
        return await ContinuousClock().measure { _ = try? await client.get("/").data() }
    }

    private static func keepsConnection(_ client: Client, _ server: TestServer) async throws -> Bool
    {
        _ = try? await client.get("/").deadline(.seconds(1)).data()
        // Long enough for a transport that can close.
        try await Task.sleep(for: .seconds(2))
        return server.counts.open > 0
    }

    /// Whether a server gets rid of all of a large answer whose call was cancelled at its head.
    private static func sendsWhole(_ client: Client, _ server: TestServer) async throws -> Bool {
        server.route("/", .bytes(40 << 20))
        let count = 100
        for _ in 0..<count {
            // The body is let go of unread.
            _ = try await client.get("/").response()
        }
        try await server.wait { $0.requests == count && $0.inFlight == 0 }
        return server.counts.abandoned < count
    }

    /// The seconds of CPU while the answer to an upload is waited for.
    private static func cost(
        ofUploading count: Int, _ client: Client, _ server: TestServer
    ) async throws -> Double {
        server.route("/", .ok(text: "x"), .ok(text: "x").delayed(by: .seconds(1)))
        // The first answer of a connection costs as much.
        _ = try await client.get("/").data()
        let before = clock()
        _ = try await client.post("/", body: .data(Data(count: count))).data()
        return Double(clock() - before) / Double(CLOCKS_PER_SEC)
    }

    private static func raw(_ fields: String, _ rest: String) -> TestAnswer {
        .raw(Data("HTTP/1.1 200 OK\r\n\(fields)\r\n\(rest)".utf8))
    }
}

struct FaultFailure: Error, CustomStringConvertible {
    let description: String
}
