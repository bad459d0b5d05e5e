// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeTesting

/// This program once more, as another process.
final class Child {
    private let process = Process()
    // What it is given ends with this process, however that ends.
    private let input = Pipe()
    private let standardOutput = Pipe()

    // What a thread keeps in its cache is free, and the statistics of malloc count it as in use: up to
    // 0.2 MiB for each thread, be it ever so idle.
    private static let withoutThreadCaches = "glibc.malloc.tcache_count=0"

    init(_ arguments: [String]) throws {
        process.executableURL = Bundle.main.executableURL
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(["GLIBC_TUNABLES": Self.withoutThreadCaches]) { named, _ in named }
        process.standardInput = input
        process.standardOutput = standardOutput
        try process.run()
    }

    func firstOutput() -> Data { standardOutput.fileHandleForReading.availableData }

    /// What it wrote, once it has ended well.
    func output() throws -> Data {
        let data = try standardOutput.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw EnduranceFailure("a run failed") }
        return data
    }

    func end() {
        // A signal that can be blocked may be: children inherit that.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// The server, in a process of its own.
struct EnduranceServer {
    /// Of what is collected, in MiB.
    static let sizes = [1, 2, 4, 8, 16, 32]

    let url: String
    private let child: Child

    init() throws {
        child = try Child(["--serve"])
        let line = String(decoding: child.firstOutput(), as: UTF8.self)
        url = line.trimmingCharacters(in: .newlines)
        guard url.hasPrefix("http") else { throw EnduranceFailure("the server did not start") }
    }

    func end() { child.end() }

    /// Prints the address and serves until standard input ends.
    static func serve() throws {
        let server = try TestServer(keepsRecord: false)
        server.route("/plain", .data(Data(count: 1000)))
        // "hello" times 1000.
        let coded = "H4sIAAAAAAACA+3EoQ0AAAgDsGtJJpbwv+MKXCuaaTeSJEmSJEmSPjvWqsWSiBMAAA=="
        let zipped = Data(base64Encoded: coded) ?? Data()
        server.route("/a.json", .data(zipped, headers: ["Content-Encoding": "gzip"]))
        server.route("/elsewhere", .redirect(308, to: "/sink"))
        server.route("/big.bin", .bytes(32 << 20))
        for size in sizes { server.route("/large/\(size)", .bytes(Int64(size) << 20)) }
        server.route("/busy", .status(503))
        server.route("/sink", .handler { .text("\($0.bodyBytes) bytes") })
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
