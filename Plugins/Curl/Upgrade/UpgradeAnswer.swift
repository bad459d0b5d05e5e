// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

struct UpgradeAnswer {
    private let channel: CurlUpgrade
    private var bytes = Data()

    private static let headLimit = 524_288
    private static let contentLimit = 1_048_576

    init(_ channel: CurlUpgrade) { self.channel = channel }

    mutating func head(_ url: URL) async throws -> Exchange.Head {
        var total = 0
        while true {
            let section = try await headSection()
            total += section.count
            guard total <= Self.headLimit else { throw Self.isTooLarge("head", Self.headLimit) }
            let head = try unsafe section.withUnsafeBytes { bytes in
                try unsafe CurlHead.opening(
                    of: bytes.assumingMemoryBound(to: UInt8.self), url: url, isHead: false
                ).get()
            }
            let code = head.response.status.code
            if code == 101 || code >= 200 { return head }
        }
    }

    /// Leaves the bytes after the head to the other protocol.
    func leaveRest() { channel.putBack(bytes) }

    mutating func content(of head: Exchange.Head) async throws -> Data {
        if let length = head.length {
            guard length <= Self.contentLimit else { throw Self.contentIsTooLarge }
            return try await take(Int(length))
        }
        if head.endsWithConnection {
            while try await fill() {
                if bytes.count > Self.contentLimit { throw Self.contentIsTooLarge }
            }
            return bytes
        }
        var content = Data()
        while true {
            let size = String(
                decoding: try await line().prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
            let digits = Grammar.trimmed(size)
            guard !digits.isEmpty, digits.utf8.count <= 8, !digits.hasPrefix("+"),
                let count = Int(digits, radix: 16), count >= 0
            else { throw CurlHead.broken("a chunk has no size") }
            if count == 0 { break }
            guard content.count + count <= Self.contentLimit else { throw Self.contentIsTooLarge }
            content += try await take(count)
            guard try await line().isEmpty else {
                throw CurlHead.broken("a chunk is longer than its size")
            }
        }
        while try await !line().isEmpty {}
        return content
    }

    // MARK: Bytes

    private mutating func fill() async throws -> Bool {
        guard let more = try await channel.read(upTo: 16_384) else { return false }
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

    private mutating func headSection() async throws -> Data {
        var searched = 0
        while true {
            if let end = Self.headEnd(bytes, from: max(0, searched - 3)) { return remove(end) }
            searched = bytes.count
            guard searched <= Self.headLimit else { throw Self.isTooLarge("head", Self.headLimit) }
            try await need()
        }
    }

    // Returns the index after the empty line. A line may end without a carriage return.
    private static func headEnd(_ bytes: Data, from start: Int) -> Int? {
        for index in start..<max(start, bytes.count) where bytes[index] == 0x0A {
            let rest = bytes[(index + 1)...]
            if rest.first == 0x0A { return index + 2 }
            if rest.starts(with: [0x0D, 0x0A]) { return index + 3 }
        }
        return nil
    }

    private mutating func line() async throws -> Data {
        while true {
            if let end = bytes.firstIndex(of: 0x0A) {
                var line = remove(end + 1 - bytes.startIndex).dropLast()
                if line.last == 0x0D { line = line.dropLast() }
                return line
            }
            guard bytes.count <= 16_384 else { throw CurlHead.broken("a line is too long") }
            try await need()
        }
    }

    private mutating func take(_ count: Int) async throws -> Data {
        while bytes.count < count { try await need() }
        return remove(count)
    }

    private mutating func remove(_ count: Int) -> Data {
        defer { bytes = Data(bytes.dropFirst(count)) }
        return Data(bytes.prefix(count))
    }

    private static var contentIsTooLarge: ClientError { isTooLarge("content", contentLimit) }

    private static func isTooLarge(_ what: String, _ limit: Int) -> ClientError {
        ClientError(
            .tooLarge,
            "the \(what) of the answer to a request for another protocol has more than \(limit) bytes",
            transfer: TransferState(.receiving))
    }
}
