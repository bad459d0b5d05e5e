// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Synchronization
import Testing

/// The servers of others that the integration tests talk to: started by a script at the first use,
/// ended with this process.
///
/// Only with `TURNPIKE_INTEGRATION=1`, which `scripts/test --integration` sets; what cannot be had
/// is nil, and its tests are skipped.
final class Peers: Sendable {
    /// nginx and httpbin.
    static let shared = start("peers")
    /// Servers that end requests and connections of HTTP/2 in unusual ways.
    static let http2 = start("http2-peers")
    /// Five nginx that serve one name.
    static let fleet = start("nginx-fleet")

    private static func start(_ script: String) -> Peers? {
        guard ProcessInfo.processInfo.environment["TURNPIKE_INTEGRATION"] == "1" else { return nil }
        return try? Peers(script)
    }

    let folder: URL
    private let addresses: [String: String]
    private let script: ChildProcess
    private let commands = Mutex(())

    /// Where a server of a name answers; nil where it is not installed.
    subscript(name: String) -> String? { addresses[name] }
    /// Plain HTTP by nginx.
    var nginx: String? { addresses["nginx"] }
    /// HTTPS by nginx, with a certificate of an authority that nobody knows.
    var secure: String? { addresses["secure"] }
    /// The same, whose connections end after 100 requests.
    var limited: String? { addresses["limited"] }
    /// The certificate of that authority.
    var authority: URL { folder.appending(path: "ca.pem") }
    /// httpbin behind gunicorn.
    var httpbin: String? { addresses["httpbin"] }

    private init(_ script: String) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        folder = FileManager.default.temporaryDirectory.appending(
            path: "turnpike-peers-" + UUID().uuidString)
        // It ends the servers when its input does, however this process ends.
        self.script = try ChildProcess(
            root.appending(path: "scripts/" + script).path(percentEncoded: false), [folder.path()],
            input: .pipe,
            output: .pipe)
        var addresses: [String: String] = [:]
        while let line = self.script.readLine(), line != "ready" {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { addresses[String(parts[0])] = String(parts[1]) }
        }
        self.addresses = addresses
    }

    /// Sends the script a command, such as one that lets nginx take up its configuration anew, or end and
    /// start again; returns when it has.
    func nginx(_ command: String) async {
        await withCheckedContinuation { continuation in
            Thread { [self] in
                commands.withLock { _ in
                    try? script.input.write(contentsOf: Data((command + "\n").utf8))
                    _ = script.readLine()
                }
                continuation.resume()
            }.start()
        }
    }
}

/// Suites that share servers, and stop or end them: one after another.
struct OneAtATime: SuiteTrait, TestScoping {
    private actor Turn {
        private var isTaken = false
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func take() async {
            if isTaken {
                await withCheckedContinuation { waiting.append($0) }
            } else {
                isTaken = true
            }
        }

        func pass() {
            if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
        }
    }

    private static let turn = Turn()

    func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        await Self.turn.take()
        let result: Result<Void, any Error>
        do { result = .success(try await function()) } catch { result = .failure(error) }
        await Self.turn.pass()
        try result.get()
    }
}

extension Trait where Self == OneAtATime {
    static var oneAtATime: Self { OneAtATime() }
}
