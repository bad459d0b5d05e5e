// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore

@Suite("WebSockets of a program", .serialized, .timeLimit(.minutes(5)))
struct SocketProgramTests {
    private static let python =
        ProcessInfo.processInfo.environment["TURNPIKE_WEBSOCKETS_PYTHON"] ?? "python3"
    private static let hasServer =
        (try? ChildProcess(
            python, ["-c", "import websockets.asyncio.server"], output: .null, errors: .null))?
        .wait() == .exited(0)

    @Test(
        "Echoes come back in order, each end has its error, and nothing is left open",
        .needs("the Python package websockets", if: hasServer))
    func run() async throws {
        let (sockets, echoes, cancels) = Runs.size((10, 20, 100), all: (100, 200, 1000))
        let report = try await Program("turnpike-sockets").run(
            "--sockets", "\(sockets)", "--echoes", "\(echoes)", "--cancels", "\(cancels)",
            "--python", Self.python, within: .seconds(180))
        let roads = report["tls"] == .bool(true) ? 2 : 1
        #expect(report["echoes"]?.int == roads * sockets * echoes)
        #expect(report["held"]?.int == 10 * echoes)
        #expect(report["cancelled"]?.int == cancels)
        #expect(report["killed"]?.int == sockets)
        #expect(report["descriptorsLeft"]?.int == 0)
    }

    @Test(
        "An idle socket takes less than 20 KiB beside its connection",
        .needs("the Python package websockets", if: hasServer))
    func idle() async throws {
        let report = try await Program("turnpike-sockets").run(
            "--idle", "\(Runs.size(200, all: 1000))", "--python", Self.python,
            within: .seconds(120))
        let bytes = try #require(report["bytes"])
        let (socket, connection) = (bytes["sockets"]?.int ?? 0, bytes["upgrades"]?.int ?? 0)
        #expect(connection > 0 && socket < connection + 20 * 1024)
    }
}
