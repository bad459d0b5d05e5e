// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Turnpike
import TurnpikeTesting

/// The server, in a process of its own.
struct EnduranceServer {
    /// Of what is collected, in MiB.
    static let sizes = [1, 2, 4, 8, 16, 32]

    let url: String
    private let child: ChildProcess

    init() throws {
        child = try Self.child(["--serve"])
        url = child.readLine() ?? ""
        guard url.hasPrefix("http") else { throw EnduranceFailure("the server did not start") }
    }

    func end() {
        child.kill()
        child.wait()
    }

    // What a thread keeps in its cache is free, and the statistics of malloc count it as in use: up to
    // 0.2 MiB for each thread, be it ever so idle.
    private static let withoutThreadCaches = "glibc.malloc.tcache_count=0"

    /// This program once more, as another process, whose input ends with this process.
    static func child(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(
            CommandLine.arguments[0], arguments,
            environment: [
                "GLIBC_TUNABLES": ProcessInfo.processInfo.environment["GLIBC_TUNABLES"]
                    ?? withoutThreadCaches
            ], input: .pipe, output: .pipe)
    }

    /// Prints the address and serves until standard input ends.
    static func serve() throws {
        let server = try TestServer(keepsRecord: false)
        server.route("/plain", .ok(data: Data(count: 1000)))
        // "hello" times 1000.
        let coded = "H4sIAAAAAAACA+3EoQ0AAAgDsGtJJpbwv+MKXCuaaTeSJEmSJEmSPjvWqsWSiBMAAA=="
        let zipped = Data(base64Encoded: coded) ?? Data()
        server.route("/a.json", .ok(data: zipped, headers: ["Content-Encoding": "gzip"]))
        server.route("/elsewhere", .redirect(308, to: "/sink"))
        server.route("/big.bin", .bytes(32 << 20))
        for size in sizes { server.route("/large/\(size)", .bytes(Int64(size) << 20)) }
        server.route("/busy", .status(503))
        server.route("/sink", .handler { .ok(text: "\($0.bodyBytes) bytes") })
        server.route("/cut", .short(declared: 1000, sent: Data(count: 500)))
        server.route("/reset", .reset)
        server.route("/silence", .silence)
        server.route("/unread", .silence.withoutReading())
        server.fallback(.status(404))
        FileHandle.standardOutput.write(Data((server.url.absoluteString + "\n").utf8))
        while readLine() != nil {}
        server.stop()
    }
}
