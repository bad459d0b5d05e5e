// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

struct UpgradeAnswer {
    private let channel: CurlUpgrade
    private var bytes = Data()
    // The name of the current part, and the number of bytes that the part may still have.
    private var part = "head"
    private var left = 524_288

    private static let contentLimit = 1_048_576

    init(_ channel: CurlUpgrade) { self.channel = channel }

    mutating func head(_ url: URL) async throws -> Exchange.Head {
        while true {
            var section = Data()
            var line = Data()
            repeat {
                line = try await self.line()
                section += line
            } while line.first != 0x0A && line != Data([0x0D, 0x0A])
            let head = try unsafe section.withUnsafeBytes { bytes in
                try unsafe CurlHead.opening(
                    of: bytes.assumingMemoryBound(to: UInt8.self), url: url, isHead: false
                ).get()
            }
            let code = head.response.status.code
            if code == 101 || code >= 200 { return head }
        }
    }

    /// Returns the bytes after the head to the channel for the other protocol.
    func leaveRest() { channel.putBack(bytes) }

    mutating func content(of head: Exchange.Head) async throws -> Data {
        (part, left) = ("content", Self.contentLimit - bytes.count)
        if let length = head.length {
            guard length <= Self.contentLimit else { throw isTooLarge }
            return try await take(Int(length))
        }
        if head.endsWithConnection {
            while try await fill() {}
            return bytes
        }
        var content = Data()
        while true {
            let size = try await text().prefix { $0 != ";" }
            let digits = Grammar.trimmed(size)
            guard !digits.isEmpty, digits.utf8.count <= 8, !digits.hasPrefix("+"),
                let count = Int(digits, radix: 16), count >= 0
            else { throw CurlHead.broken("a chunk has no size") }
            if count == 0 { break }
            content += try await take(count)
            guard try await text().isEmpty else {
                throw CurlHead.broken("a chunk is longer than its size")
            }
        }
        while try await !text().isEmpty {}
        return content
    }

    // MARK: Bytes

    private mutating func fill() async throws -> Bool {
        guard let more = try await channel.read(upTo: 16_384) else { return false }
        left -= more.count
        if left < 0 { throw isTooLarge }
        bytes += more
        return true
    }

    private mutating func need() async throws {
        guard try await fill() else {
            throw ClientError(
                .connection, "the server closed the connection within its answer",
                transfer: TransferState(.receiving))
        }
    }

    // Returns a line with the line end.
    private mutating func line() async throws -> Data {
        var searched = 0
        while true {
            if let end = bytes.dropFirst(searched).firstIndex(of: 0x0A) {
                return remove(end + 1 - bytes.startIndex)
            }
            searched = bytes.count
            try await need()
        }
    }

    // Returns a line without the line end.
    private mutating func text() async throws -> String {
        let line = try await line().dropLast()
        return String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
    }

    private mutating func take(_ count: Int) async throws -> Data {
        while bytes.count < count { try await need() }
        return remove(count)
    }

    private mutating func remove(_ count: Int) -> Data {
        defer { bytes = Data(bytes.dropFirst(count)) }
        return Data(bytes.prefix(count))
    }

    private var isTooLarge: ClientError {
        ClientError(
            .tooLarge, "the \(part) of the answer to a request for another protocol is too large",
            transfer: TransferState(.receiving))
    }
}
