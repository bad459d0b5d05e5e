// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCache
import TurnpikeCore
import TurnpikeCurl
import TurnpikeDownloads
import TurnpikeReachability
import TurnpikeSupport
import TurnpikeTesting

/// Everything at once: a cache, a jar and hosts in files, a log, connections that are idle, read from
/// and written to, a download, a large entry that is read, a temporary file, a monitor of the network.
final class OpenThings {
    private let server: TestServer
    private let client: Client
    private let hold = TestHold()
    private var things: [Any] = []
    private var tasks: [Task<Void, Never>] = []

    init(in folder: URL, transport: String) async throws {
        func path(_ name: String) -> String {
            folder.appending(path: name).path(percentEncoded: false)
        }
        server = try TestServer()
        let large = Data(repeating: 7, count: 2 << 20)
        let fresh: HTTPHeaders = ["Cache-Control": "max-age=600", "Set-Cookie": "a=1; Max-Age=99"]
        server.route("/cached", .ok(data: large, headers: fresh))
        server.route("/endless", .endless(every: .milliseconds(1)))
        server.route("/idle", .ok(text: "x"))
        server.route("/upload", .ok(text: "x").reading(heldBy: hold))
        let store = DiskStore(directory: path("cache"))
        let log = try LineSink(appendingTo: path("log"))
        let carrier: any Transport =
            switch transport {
            case "curl": try CurlTransport()
            case "urlsession": URLSessionTransport()
            default: throw DescriptorFailure("--transport", 0)
            }
        client = Client(
            baseURL: server.target, transport: carrier,
            stack: [
                .log(to: log), .cookies(try CookieJar(file: path("jar"))),
                .hsts(try HSTSStore(file: path("hosts"))), .cache(store, partition: "test"),
            ], serializers: .standard)
        _ = try await client.get("cached").data()
        await store.flush()
        _ = try await client.get("idle").data()
        var cached = try await client.get("cached").response()
        _ = try await cached.body.peek(upTo: 1)
        var endless = try await client.get("endless").response()
        _ = try await endless.body.peek(upTo: 1)
        let download = client.get("endless").startDownload(to: .directory(folder))
        for await progress in download.progress where progress.bytesReceived > 0 { break }
        let file = folder.appending(path: "file")
        try Data(repeating: 1, count: 8 << 20).write(to: file)
        let upload = client.post("upload", body: .file(file))
        tasks.append(Task { _ = try? await upload.data() })
        try await server.waitForRequests(5)
        let spill = try UnnamedFile.temporary()
        try spill.write(large, at: 0)
        things = [cached, endless, download, spill, PathMonitor.system()]
    }

    func close() async {
        hold.open()
        things = []
        for task in tasks { task.cancel() }
        await client.shutdown()
        server.stop()
    }
}
