// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeDownloads
import TurnpikeInspection
import TurnpikeTesting

@Suite("What a user sees of a trace")
struct CallTraceTests {
    @Test("A download is traced too, and so is a call that was started")
    func otherTerminals() async throws {
        let client = Client(transport: MockTransport { _ in .ok(text: "abc") }, stack: [])
        let call = client.get("https://a.example/file").traced()
        _ = try await call.start(.data).value
        #expect(call.trace?.isComplete == true)
        let first = call.trace?.id
        let folder = URL.temporaryDirectory.appending(path: "turnpike-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        _ = try await call.download(to: folder.appending(path: "file"))
        #expect(call.trace?.id != first)
        #expect(call.trace?.spans[1].exchange?.bytesReceived == 3)
    }
}
