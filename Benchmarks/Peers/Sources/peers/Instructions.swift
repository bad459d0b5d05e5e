// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The user-mode instructions of one GET of 1 KiB, counted by valgrind.
///
/// They do not depend on the load of the machine.
///
/// Each client runs once with some requests, and once with a thousand more. The difference is the
/// cost of the thousand.
struct Instructions {
    static let subcommand = "send"

    private var json = false
    private var clients: [Peer] = [.curl, .curlStandard, .ahc1, .libcurl]

    private static let few = 200
    private static let many = 1200

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--json": json = true
            case "--clients": clients = try Peer.list(rest.popFirst() ?? "")
            default: throw PeerError("unknown option \(option)")
            }
        }
    }

    func run() throws {
        let valgrind = try Command.require("valgrind", package: "valgrind")
        let strip = try Command.require("strip", package: "binutils")
        // valgrind cannot read the debug information that Swift's linker writes.
        let program =
            FileManager.default.temporaryDirectory.path + "/turnpike-peers-stripped-\(getpid())"
        Cleanup.add(folder: program)
        defer { try? FileManager.default.removeItem(atPath: program) }
        _ = try Command.output(
            of: strip, ["--strip-debug", "-o", program, try Command.own], within: 60)
        let server = try Nginx()
        defer { server.stop() }
        let workload = try Workload.named("W1")
        for client in clients {
            if let reason = client.reasonToLeaveOut {
                note("without \(client.rawValue): \(reason)")
                continue
            }
            func count(_ requests: Int) throws -> Int {
                try Self.count(
                    valgrind, program,
                    [Self.subcommand, client.rawValue, server.url(workload), String(requests)])
            }
            let each = try (count(Self.many) - count(Self.few)) / (Self.many - Self.few)
            print(
                json
                    ? #"{"bench":"instructions","client":"\#(client.rawValue)","perRequest":\#(each)}"#
                    : "\(client.rawValue): \(each) instructions a request")
            fflush(nil)
        }
    }

    private static func count(
        _ valgrind: String, _ program: String, _ arguments: [String]
    ) throws -> Int {
        let log = program + ".log"
        defer { try? FileManager.default.removeItem(atPath: log) }
        _ = try Command.output(
            of: valgrind,
            [
                "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=" + log, program,
            ] + arguments, within: 300)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        let line = text.components(separatedBy: "Collected :").dropFirst().first ?? ""
        guard let number = line.split(whereSeparator: \.isWhitespace).first.flatMap({ Int($0) })
        else { throw PeerError("valgrind printed no count") }
        return number
    }

    /// Sends the requests whose instructions are counted.
    static func send(_ arguments: [String]) async throws {
        guard arguments.count == 3, let url = URL(string: arguments[1]),
            let count = Int(arguments[2])
        else { throw PeerError("usage: peers \(subcommand) CLIENT URL COUNT") }
        let peer = try Peer.named(arguments[0])
        let workload = try Workload.named("W1")
        if peer == .libcurl {
            _ = try Libcurl(workload, url, authority: "").run(seconds: 0, count: count)
            return
        }
        let sender = try peer.sender(workload, url, authority: "")
        try await withTaskExecutorPreference(sender.executor) {
            for _ in 0..<count {
                guard try await sender.send() == workload.bytes else {
                    throw PeerError("the answer has a wrong size")
                }
            }
        }
    }
}
