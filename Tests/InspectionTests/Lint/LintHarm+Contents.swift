// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeSupport
import TurnpikeTesting

// Secrets and contents.
extension LintHarm {
    static let contents: [LintHarm] = [
        LintHarm(
            "secret-without-origins",
            wrong: { [.setHeaders(["X-Api-Key": "k"])] },
            right: { [.setHeaders(["X-Api-Key": "k"], origins: ["https://a.test"])] },
            happens: { stack, simulation in
                let server = MockTransport([.any(.ok(text: "x"))])
                // The URL came from somebody else.
                _ = try await client(stack, simulation, server).get("https://evil.test/").string()
                return server.sent.last?.request.headers["X-Api-Key"] != nil
            }),
        LintHarm(
            "credential-overridden",
            wrong: { [.setHeaders(["Authorization": "Bearer old"]), .bearer(token: "new")] },
            right: { [.bearer(token: "new")] },
            happens: { stack, simulation in
                let server = MockTransport([.any(.ok(text: "x"))])
                _ = try await client(stack, simulation, server).get("x").string()
                return server.sent.last?.request.headers[.authorization] != "Bearer new"
            }),
        LintHarm(
            "signed-before-change",
            wrong: { [ContentSignature(), .compressBodies()] },
            right: { [.compressBodies(), ContentSignature()] },
            happens: { stack, simulation in
                let server = MockTransport([.any(.ok(text: "x"))])
                let content = Data(repeating: 0x61, count: 10_000)
                let client = client(stack, simulation, server)
                _ = try await client.request(.post, "x", body: .data(content, type: nil)).string()
                let sent = try #require(server.sent.last)
                let hash = SHA256.digest(of: try #require(sent.request.body.inMemory)).hexadecimal
                return sent.request.headers["X-Signature"] != hash
            }),
        LintHarm(
            "content-in-logs",
            wrong: { [.log(to: lines, peekBytes: 100)] },
            right: { [.log(to: lines)] },
            happens: { stack, simulation in
                let before = lines.lines.count
                let server = MockTransport([.any(.ok(text: "Ada Lovelace, born in 1815"))])
                _ = try await client(stack, simulation, server).get("x").string()
                return lines.lines.dropFirst(before).contains { $0.contains("Lovelace") }
            }),
    ]

    private static let lines = MemoryLogSink()
}

/// Signs the content of a request.
private struct ContentSignature: RequestAdapter {
    func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "signs the content", .setsFields(["X-Signature"], .secret(isBound: true)),
            .stampsTime(valid: .seconds(300)))
    }

    func adapt(_ request: inout Request, context: Context) async throws {
        request.headers["X-Signature"] = try await SHA256.digest(of: request.body).hexadecimal
    }
}
