// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A connection to a Valkey or Redis server that blocks, for what a test asserts and prepares.
///
/// It shares no code with the plugin. An answer that takes 20 seconds is a fault.
package final class RawConnection: Sendable {
    private struct State: ~Copyable {
        let socket: LoopbackSocket
        var buffer = Data()

        mutating func more() throws {
            guard case .bytes(let bytes) = socket.read() else {
                throw ServerFault("the server has closed the connection, or is silent")
            }
            buffer.append(bytes)
        }

        mutating func line() throws -> String {
            let mark = Data("\r\n".utf8)
            while true {
                if let end = buffer.range(of: mark) {
                    defer { buffer = Data(buffer[end.upperBound...]) }
                    return String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
                }
                try more()
            }
        }

        mutating func reply() throws -> RawReply {
            let line = try line()
            let rest = String(line.dropFirst())
            switch line.first {
            case "+": return .text(rest)
            case "-": return .error(rest)
            case ":": return .integer(Int(rest) ?? 0)
            case "$":
                let count = Int(rest) ?? -1
                if count < 0 { return .null }
                while buffer.count < count + 2 { try more() }
                defer { buffer = Data(buffer.dropFirst(count + 2)) }
                return .text(String(decoding: buffer.prefix(count), as: UTF8.self))
            case "*":
                let count = Int(rest) ?? -1
                if count < 0 { return .null }
                var list: [RawReply] = []
                for _ in 0..<count { list.append(try reply()) }
                return .list(list)
            default: throw ServerFault("this is no reply: \(line)")
            }
        }
    }

    private let state: Mutex<State>

    /// Connects to a port of 127.0.0.1.
    package init(port: Int, password: String? = nil) throws {
        let socket = try LoopbackSocket.connected(to: port)
        socket.limitTime(to: 20)
        state = Mutex(State(socket: socket))
        if let password { _ = try send(["AUTH", password]) }
    }

    /// Sends a command and reads its reply.
    package func send(_ words: [String]) throws -> RawReply {
        var data = Data("*\(words.count)\r\n".utf8)
        for word in words { data += Data("$\(word.utf8.count)\r\n\(word)\r\n".utf8) }
        return try state.withLock { state in
            while !data.isEmpty {
                guard let count = state.socket.write(data) else {
                    throw ServerFault("the server has closed the connection")
                }
                data = Data(data.dropFirst(count))
            }
            return try state.reply()
        }
    }

    /// Sends a command and reads its reply.
    package func callAsFunction(_ words: String...) throws -> RawReply { try send(words) }
}
