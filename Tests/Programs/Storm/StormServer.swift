// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeTesting

/// The server of the storm and the calls that go to it.
struct StormServer {
    static let largeBytes = 2 << 20
    static let smallUpload = 20_000
    // Beyond what the transport collects in memory, so that the stream goes through a file.
    static let largeUpload = 400_000

    let server: TestServer
    private let file: URL

    init(file: URL) throws {
        self.file = file
        try Data(repeating: 0x66, count: Self.largeUpload).write(to: file)
        server = try TestServer(keepsRecord: false)
        server.route("/plain", .ok(data: Data(repeating: 0x70, count: 1024)))
        server.route("/delayed", .ok(text: "late").delayed(by: .milliseconds(8)))
        server.route(
            "/drip", .drip(Data(repeating: 0x64, count: 200), bytes: 20, every: .milliseconds(2)))
        server.route("/large", .bytes(Int64(Self.largeBytes)))
        server.route("/found", .redirect(302, to: "/plain"))
        server.route("/kept", .redirect(307, to: "/sink"))
        server.route("/sink", .handler { .ok(text: String($0.bodyBytes)) })
        server.route("/held", .silence)
    }

    func call(_ plan: StormPlan, by client: Client) -> Call {
        switch plan.kind {
        case .plain: client.get("plain")
        case .delayed: client.get("delayed")
        case .drip, .dropped: client.get("drip")
        case .large: client.get("large")
        case .found: client.get("found")
        case .kept: client.post("kept", body: small)
        case .sendData: client.post("sink", body: small)
        case .sendFile: client.post("sink", body: .file(file))
        case .sendStream:
            client.post("sink", body: .stream(replayable: true) { Chunks(left: Self.largeUpload) })
        case .held:
            plan.cancelAfter == nil
                ? client.get("held").deadline(.microseconds(plan.deadline)) : client.get("held")
        }
    }

    private var small: RequestBody { .data(Data(repeating: 0x73, count: Self.smallUpload)) }

    /// Whether the content is what the server answers; an empty stack follows no redirect.
    func isRight(_ content: Data, for plan: StormPlan) -> Bool {
        switch plan.kind {
        case .plain: content.count == 1024
        case .delayed: content == Data("late".utf8)
        case .drip: content.count == 200
        case .large: content.count == Self.largeBytes
        case .found: plan.isStandard ? content.count == 1024 : content == Data("moved".utf8)
        case .kept: content == Data((plan.isStandard ? String(Self.smallUpload) : "moved").utf8)
        case .sendData: content == Data(String(Self.smallUpload).utf8)
        case .sendFile, .sendStream: content == Data(String(Self.largeUpload).utf8)
        case .held, .dropped: false
        }
    }
}

/// A body that is made in parts.
private struct Chunks: AsyncSequence, AsyncIteratorProtocol {
    var left: Int

    func makeAsyncIterator() -> Self { self }

    mutating func next() async -> Data? {
        guard left > 0 else { return nil }
        let count = Swift.min(left, 50_000)
        left -= count
        return Data(repeating: 0x63, count: count)
    }
}
