// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// Reads replies from the bytes of a server, within limits (RESP2, Redis serialization protocol).
///
/// A reader that has thrown an error must not be used any more.
final class ReplyReader {
    private let limits: ReplyLimits
    // The beginning of a line whose end has not arrived.
    private var line: [UInt8] = []
    // The beginning of a bulk string whose end has not arrived, and the number of missing bytes,
    // including the line end.
    private var content: (part: Data, missing: Int)?
    // The incomplete arrays, with the number of missing elements of each array.
    private var arrays: [(values: [ValkeyValue], missing: Int)] = []
    private var count = 0
    private var size = 0

    private static let mostLineBytes = 64 << 10
    // A number has at most 20 characters.
    private static let mostNumberBytes = 32

    init(_ limits: ReplyLimits) { self.limits = limits }

    func read(_ bytes: ArraySlice<UInt8>, _ body: (ValkeyValue) -> Void) throws {
        var rest = bytes
        while !rest.isEmpty {
            let value = content == nil ? try nextLine(&rest) : try restOfContent(&rest)
            if let value { try add(value, body) }
        }
    }

    // Takes a line or the beginning of a line, and returns the value of a complete line.
    private func nextLine(_ rest: inout ArraySlice<UInt8>) throws -> ValkeyValue? {
        let type = line.first ?? rest[rest.startIndex]
        guard "+-:$*".utf8.contains(type) else { throw fault("a value has an unknown type") }
        var isWhole = false
        while !isWhole, !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex - 1
            line += rest[...end]
            rest = rest[(end + 1)...]
            // A line feed alone is part of the line.
            isWhole = line.count > 2 && line.suffix(2).elementsEqual("\r\n".utf8)
            let isText = type == UInt8(ascii: "+") || type == UInt8(ascii: "-")
            if line.count > (isText ? Self.mostLineBytes : Self.mostNumberBytes) {
                throw fault(isText ? "a line is too long" : "a number is too long")
            }
        }
        guard isWhole else { return nil }
        defer { line.removeAll(keepingCapacity: true) }
        return try value(type, line[1..<(line.count - 2)], &rest)
    }

    // - Returns: The value, or nil if the content or elements of the value follow.
    private func value(
        _ type: UInt8, _ text: ArraySlice<UInt8>, _ rest: inout ArraySlice<UInt8>
    ) throws -> ValkeyValue? {
        switch type {
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            try addSize(text.count)
            let text = String(decoding: text, as: UTF8.self)
            return type == UInt8(ascii: "+") ? .status(text) : .error(text)
        case UInt8(ascii: ":"):
            guard let number = Int64(String(decoding: text, as: UTF8.self)) else {
                throw fault("an integer is malformed")
            }
            return .integer(number)
        default: break
        }
        if text.elementsEqual("-1".utf8) { return .null }
        guard !text.isEmpty, text.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw fault("the length of a value is not a number")
        }
        let length = Int(String(decoding: text, as: UTF8.self)) ?? .max
        if type == UInt8(ascii: "$") {
            try addSize(length)
            content = (Data(), length + 2)
            return try restOfContent(&rest)
        }
        if length == 0 { return .array([]) }
        if length > limits.maxValues - count { throw fault("a reply has too many values") }
        if arrays.count >= limits.maxDepth { throw fault("a reply has too many levels of arrays") }
        count += 1
        arrays.append(([], length))
        // Only 64 elements are reserved, because a server may declare more elements than it sends.
        arrays[arrays.count - 1].values.reserveCapacity(min(length, 64))
        return nil
    }

    // Takes bytes of a bulk string, and returns the complete string.
    private func restOfContent(_ rest: inout ArraySlice<UInt8>) throws -> ValkeyValue? {
        guard var (part, missing) = content.take() else { return nil }
        let new = rest.prefix(missing)
        rest = rest[new.endIndex...]
        missing -= new.count
        if part.isEmpty { part = Data(new) } else { part += new }
        if missing > 0 {
            content = (part, missing)
            return nil
        }
        guard part.suffix(2).elementsEqual("\r\n".utf8) else {
            throw fault("a value is longer than its announced length")
        }
        return .bytes(part.dropLast(2))
    }

    private func addSize(_ bytes: Int) throws {
        if bytes > limits.maxBytes - size { throw fault("a reply has too many bytes") }
        size += bytes
    }

    // Adds a value to the innermost array, or passes the value to `body` as a reply.
    private func add(_ value: ValkeyValue, _ body: (ValkeyValue) -> Void) throws {
        count += 1
        if count > limits.maxValues { throw fault("a reply has too many values") }
        var value = value
        while let last = arrays.indices.last {
            arrays[last].values.append(value)
            arrays[last].missing -= 1
            if arrays[last].missing > 0 { return }
            value = .array(arrays.removeLast().values)
        }
        (count, size) = (0, 0)
        body(value)
    }

    private func fault(_ text: String) -> ClientError { ClientError(.protocol, text) }
}

struct ReplyLimits: Sendable {
    var maxBytes = 64 << 20
    var maxValues = 1 << 20
    var maxDepth = 7
}
