// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Turnpike
import TurnpikeTesting

/// The server of a flood, in a process of its own.
final class FloodServer {
    let url: URL
    private let process: ChildProcess

    init() throws {
        // The server ends with its input, however this process ends.
        process = try ChildProcess(
            CommandLine.arguments[0], ["--mode", FloodOptions.Mode.serve.rawValue], input: .pipe,
            output: .pipe)
        guard let url = process.readLine().flatMap({ URL(string: $0) }), url.host() != nil else {
            throw FloodFailure("the server did not start")
        }
        self.url = url
    }

    func end() {
        process.kill()
        process.wait()
    }

    /// Prints the address and serves until standard input ends.
    static func serve() throws {
        let server = try TestServer(keepsRecord: false)
        server.route("/down", .handler { .bytes($0.query.flatMap { Int64($0) } ?? 0) })
        server.route("/file", .handler(part))
        server.route("/up", .handler { .ok(text: String($0.bodyBytes)) })
        FileHandle.standardOutput.write(Data((server.url.absoluteString + "\n").utf8))
        while readLine() != nil {}
        server.stop()
    }

    /// The rest that is asked for, of which but the half is sent unless it is an eighth of all.
    private static func part(_ request: ReceivedRequest) -> TestAnswer {
        let total = request.query.flatMap { Int64($0) } ?? 0
        let range = request.headers[.range]?.wholeMatch(of: /bytes=(\d+)-/)?.1
        let first = range.flatMap { Int64($0) } ?? 0
        var headers: HTTPHeaders = ["ETag": "\"flood\""]
        if first > 0 { headers[.contentRange] = "bytes \(first)-\(total - 1)/\(total)" }
        let rest = total - first
        return .bytes(
            rest, status: first > 0 ? 206 : 200, headers: headers,
            sending: rest > total / 8 ? rest / 2 : nil)
    }
}
