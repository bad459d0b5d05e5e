// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeSupport
import TurnpikeTesting

/// The server of `bench loopback`, in its own process.
///
/// It prints its URL, and serves until its input ends.
enum LoopbackServer {
    static let subcommand = "serve"

    static func run() throws {
        let server = try TestServer(keepsRecord: false)
        // As many field lines as an ordinary server sends, because each line adds to the cost of
        // URLSession.
        var headers: HTTPHeaders = [
            "Server": "bench", "Date": "Sat, 21 Nov 2026 08:00:00 GMT",
            "Last-Modified": "Sat, 21 Nov 2026 07:00:00 GMT", "ETag": "\"1024-5f0c2a1b\"",
            "Cache-Control": "no-store", "Accept-Ranges": "bytes", "Connection": "keep-alive",
        ]
        let content = Data(repeating: 0x61, count: 1024)
        server.route("/", .ok(data: content, headers: headers))
        // For the cache benchmark.
        headers[.cacheControl] = "max-age=3600"
        headers[.date] = HTTPDate.format(Date())
        server.route("/fresh", .ok(data: content, headers: headers))
        print(server.url.absoluteString)
        // Standard output is a pipe here, so the URL could remain in a buffer.
        fflush(nil)
        while readLine() != nil {}
        server.stop()
    }
}
