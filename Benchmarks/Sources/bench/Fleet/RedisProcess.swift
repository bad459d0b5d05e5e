// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TurnpikeSupport
import TurnpikeValkey

/// A `redis-server` or `valkey-server` only for this benchmark, on a free loopback port.
final class RedisProcess {
    let port: Int
    let client: ValkeyServer
    private let process: ChildProcess

    var url: String { "redis://127.0.0.1:\(port)/0" }

    /// Starts a server; nil if none is installed.
    static func start() async throws -> RedisProcess? {
        guard let path = Self.path(of: ["valkey-server", "redis-server"]) else { return nil }
        let server = try RedisProcess(path)
        for _ in 0..<100 {
            let answer = try? await server.client.send(
                ValkeyCommand("PING"), within: .milliseconds(200))
            if answer != nil { return server }
            try await Task.sleep(for: .milliseconds(50))
        }
        server.end()
        throw CocoaError(.fileReadUnknown)
    }

    private init(_ path: String) throws {
        port = try Self.freePort()
        client = try ValkeyServer(url: "redis://127.0.0.1:\(port)/0")
        // The server ends when the pipe ends, and so it ends with this process.
        process = try ChildProcess(
            "/bin/sh",
            [
                "-c", #""$0" "$@" & p=$!; cat; kill -9 $p"#, path, "--port", "\(port)",
                "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            ], input: .pipe, output: .null)
    }

    // Waits for the end before the shell could be killed, because that would leave the server.
    deinit { end() }

    func end() {
        try? process.input.close()
        process.wait()
    }

    /// The time of a command in microseconds with `redis-benchmark` over one connection; nil if
    /// that is not installed.
    func benchmark(_ count: Int, _ command: [Data]) throws -> Double? {
        guard let path = Self.path(of: ["valkey-benchmark", "redis-benchmark"]) else { return nil }
        let arguments = command.map { String(decoding: $0, as: UTF8.self) }
        let child = try ChildProcess(
            path, ["-p", "\(port)", "-c", "1", "-n", "\(count)", "--csv"] + arguments,
            output: .pipe)
        let text = child.finish().output
        // "test","rps","avg_latency_ms",…
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        guard let fields = lines.last?.components(separatedBy: "\",\""), fields.count > 6,
            let rate = Double(fields[fields.count - 7]), rate > 0
        else { return nil }
        return 1e6 / rate
    }

    private static func path(of names: [String]) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return names.lazy.flatMap { name in folders.map { "\($0)/\(name)" } }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static func freePort() throws -> Int {
        #if canImport(Glibc)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            guard let base = bytes.baseAddress else { return false }
            let place = base.assumingMemoryBound(to: sockaddr.self)
            return bind(descriptor, place, length) == 0
                && getsockname(descriptor, place, &length) == 0
        }
        guard isBound else { throw CocoaError(.fileWriteUnknown) }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
