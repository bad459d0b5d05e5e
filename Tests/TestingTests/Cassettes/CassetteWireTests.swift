// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Cassettes over the wire")
struct CassetteWireTests {
    private let folder = CassetteFolder()

    // All that is recorded is searched, encoded and written, which takes long for megabytes.
    private static let checks = TransportConformance.checks.filter {
        Runs.areAll || $0.name != "A large body is sent completely"
    }

    @Test("A recorder is a transport like the one inside", arguments: checks)
    func conforms(_ check: TransportConformance.Check) async throws {
        try await check.run(
            on: try CassetteTransport(
                file: folder.file, mode: .record, transport: URLSessionTransport()),
            // All that is recorded is searched, encoded and written: in a debug build on a machine
            // with other work that takes long for five mebibytes.
            limit: .seconds(240))
    }

    @Test("A session with redirects, cookies and a failure is replayed without its server")
    func session() async throws {
        let server = try TestServer()
        server.route("/start", .redirect(302, to: "/login"))
        server.route(
            "/login", .ok(text: "welcome", headers: ["Set-Cookie": "sid=s3cret-cookie-1; Path=/"]))
        server.route(
            "/items", .status(503, headers: ["Retry-After": "0"]), .ok(json: ["items": [1, 2]]))
        server.route("/image", .ok(data: Data([0, 255, 1, 254]), type: "image/png"))
        func session(over cassette: CassetteTransport) async throws -> [String] {
            let client = Client(
                baseURL: server.target, transport: cassette,
                stack: [
                    .validate(), .redirect(), .cookies(), .retry(backoff: Backoff(base: .zero)),
                ])
            let page = try await client.get("start").response()
            let text = try await page.body.collect(upTo: 100)
            let items = try await client.get("items").json()
            let image = try await client.get("image").data()
            return [
                String(decoding: text, as: UTF8.self), page.url.path(), "\(page.hops.count)",
                items.description, image.base64EncodedString(),
            ]
        }
        let recorder = try CassetteTransport(file: folder.file, mode: .record)
        let first = try await session(over: recorder)
        #expect(recorder.recordedCount == 5)
        #expect(server.requests(to: "/items").first?.headers[.cookie] == "sid=s3cret-cookie-1")
        server.stop()
        await recorder.shutdown()
        #expect(!(try folder.text()).contains("s3cret"))
        #expect(HARSchema.faults(of: try folder.har()) == [])
        let replay = try CassetteTransport(file: folder.file)
        #expect(try await session(over: replay) == first)
        #expect(replay.replayedCount == 5)
        try replay.verify()
    }
}
