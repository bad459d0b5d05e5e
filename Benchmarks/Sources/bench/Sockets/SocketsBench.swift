// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TurnpikeSupport
import TurnpikeTesting

/// Messages of WebSockets over `CurlTransport`, compared with a loop in C on the same functions of
/// libcurl, and with `websockets` in Python.
///
/// The client `executor` runs its tasks on the executor of their socket. Each client has its own
/// process. The clients take turns of a second. The server is a
/// `TestServer` with a thread for each socket.
enum SocketsBench {
    private static let rounds = 3
    private static let seconds = 1.0

    static func run(_ report: Report) throws {
        let server = try ChildProcess.again([serverSubcommand])
        defer { server.kill() }
        guard let port = server.readLine() else { throw BenchError("the server did not start") }
        var clients = ["turnpike", "executor", "curl"]
        if hasPython { clients.append("websockets") }
        for load in SocketLoad.allCases {
            var samples: [String: [SocketSample]] = [:]
            for _ in 0..<rounds {
                for client in clients {
                    samples[client, default: []].append(try measure(client, load, port))
                }
            }
            let base = samples["curl"] ?? []
            for client in clients {
                report.line(fields(client, load, samples[client] ?? [], base))
            }
        }
    }

    private static let interpreter =
        ProcessInfo.processInfo.environment["TURNPIKE_WEBSOCKETS_PYTHON"] ?? "python3"

    private static var hasPython: Bool {
        let child = try? ChildProcess(
            interpreter, ["-c", "import websockets.asyncio.client"], output: .null, errors: .null)
        return child?.wait() == .exited(0)
    }

    private static func measure(
        _ client: String, _ load: SocketLoad, _ port: String
    ) throws -> SocketSample {
        let child =
            client == "websockets"
            ? try ChildProcess(
                interpreter,
                [
                    "-c", SocketClient.python, port, "\(load.sockets)",
                    "\(load.batch)", "\(load.bytes)", "\(seconds)",
                ], output: .pipe)
            : try ChildProcess.again([
                SocketClient.subcommand, client, load.rawValue, port, "\(seconds)",
            ])
        defer { child.kill() }
        guard let line = child.readLine(),
            let sample = try? JSONDecoder().decode(SocketSample.self, from: Data(line.utf8))
        else { throw BenchError("\(client) gave no result for \(load)") }
        return sample
    }

    private static func fields(
        _ client: String, _ load: SocketLoad, _ samples: [SocketSample], _ base: [SocketSample]
    ) -> [(String, Report.Value)] {
        func rate(_ sample: SocketSample) -> Double { sample.messages / sample.seconds }
        func cpu(_ sample: SocketSample) -> Double { sample.cpuSeconds * 1e6 / sample.messages }
        func ratio(_ value: (SocketSample) -> Double) -> Double {
            median(zip(samples, base).map { value($0) / value($1) })
        }
        return [
            ("bench", "sockets"), ("load", .text(load.rawValue)), ("client", .text(client)),
            ("messagesPerSecond", .number(median(samples.map(rate)).rounded())),
            ("cpuMicroseconds", .number(median(samples.map(cpu)))),
            ("rateToC", .number(ratio(rate))), ("cpuToC", .number(ratio(cpu))),
        ]
    }

    // MARK: The server

    static let serverSubcommand = "serve-sockets"

    /// Prints its port, and echoes messages until its input ends.
    static func serve() throws {
        let server = try TestServer(keepsRecord: false)
        server.route(
            "/",
            .handler { request in
                let key = request.headers["Sec-WebSocket-Key"] ?? ""
                let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                let accept = SHA1.digest(of: Data(text.utf8)).base64EncodedString()
                return .upgrade(
                    to: "websocket", headers: ["Sec-WebSocket-Accept": accept], echo)
            })
        print(server.port)
        fflush(nil)
        while readLine() != nil {}
        server.stop()
    }

    // Echoes messages of up to 125 bytes. Messages that arrive together are sent back together.
    private static func echo(_ peer: TestPeer) {
        var kept: [UInt8] = []
        while let more = peer.read() {
            kept += more
            var answer = Data(capacity: kept.count)
            var start = 0
            while kept.count - start >= 6 {
                let count = Int(kept[start + 1] & 0x7F)
                guard kept.count - start >= 6 + count else { break }
                answer.append(kept[start])
                answer.append(UInt8(count))
                for index in 0..<count {
                    answer.append(kept[start + 6 + index] ^ kept[start + 2 + index & 3])
                }
                start += 6 + count
            }
            kept.removeFirst(start)
            if !answer.isEmpty, !peer.write(answer) { return }
        }
    }
}
