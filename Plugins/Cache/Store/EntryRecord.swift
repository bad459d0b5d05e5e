// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A stored response and its content as bytes, for stores that keep them elsewhere.
///
/// The content stands in front, so that it can be used without a copy. Behind it are the head and a
/// closing of ``closingBytes`` bytes, with the lengths and checksums of both. Bytes that were cut off,
/// damaged or written by another version of the format are no record. The checksums find accidents: they
/// are no defence against somebody who writes to the place.
public struct EntryRecord: Sendable {
    /// The response.
    public let response: StoredResponse
    /// The bytes behind the content: the head and the closing.
    ///
    /// They tell apart what was stored under one key and variant at different times.
    public let tail: Data
    private let closing: Closing

    /// The length of the closing.
    ///
    /// It has the version, the length of the head, the length of the content, and the checksums of
    /// the content and of the head; the last one covers the lengths too. Numbers have their lowest
    /// byte first.
    public static let closingBytes = 32
    // "TrC" and a version, which changes with the format and with the rules for whom an entry is kept.
    private static let version: UInt32 = 0x0143_7254

    private init(response: StoredResponse, tail: Data, _ closing: Closing) {
        self.response = response
        self.tail = tail
        self.closing = closing
    }

    /// Creates the record of a response.
    public init(_ response: StoredResponse, content: Data) {
        let length = UInt64(content.count)
        self.init(response, Closing(contentLength: length, content: XXHash64.hash(content)))
    }

    private init(_ response: StoredResponse, _ content: Closing) {
        var writer = RecordWriter()
        response.write(&writer)
        var closing = content
        closing.headLength = UInt32(clamping: writer.bytes.count)
        closing.head = closing.checksum(of: writer.bytes)
        closing.write(&writer)
        self.init(response: response, tail: Data(writer.bytes), closing)
    }

    /// The record of the same content with another head.
    public func replacing(_ response: StoredResponse) -> EntryRecord {
        EntryRecord(response, closing)
    }

    /// Whether a content is that of the record.
    public func isRight(_ content: Data) -> Bool {
        closing.contentLength == UInt64(content.count)
            && closing.content == XXHash64.hash(content)
    }

    /// Reads the bytes behind a content, without the content; nil if they are not whole.
    public init?(tail: Data) {
        guard let closing = Closing(tail),
            tail.count - Self.closingBytes == Int(closing.headLength),
            closing.head == closing.checksum(of: tail.dropLast(Self.closingBytes)),
            let response = StoredResponse(record: tail.dropLast(Self.closingBytes))
        else { return nil }
        self.init(response: response, tail: tail, closing)
    }

    /// The length of the content.
    public var contentLength: Int64 { Int64(clamping: closing.contentLength) }

    /// Reads a record, and checks its head; ``isRight(_:)`` checks its content.
    /// - Parameters:
    ///   - bytes: The content and the bytes behind it.
    ///   - known: A record that was read before. If the bytes have the same tail, it is not read again.
    /// - Returns: The record and its content, which shares the memory of the bytes; nil if they are
    ///   not whole.
    public static func read(
        _ bytes: Data, knowing known: EntryRecord? = nil
    ) -> (record: EntryRecord, content: Data)? {
        if let known, let content = known.content(of: bytes) { return (known, content) }
        guard let closing = Closing(bytes),
            let tailBytes = closing.tailBytes(in: bytes.count)
        else { return nil }
        let tail = bytes.suffix(tailBytes)
        let content = bytes.prefix(bytes.count - tailBytes)
        // A record that is kept must not keep the content.
        guard let record = EntryRecord(tail: tail.exact) else { return nil }
        return (record, content)
    }

    // What stands before the record's own tail; nil if the bytes end otherwise.
    private func content(of bytes: Data) -> Data? {
        let count = bytes.count - tail.count
        guard count >= 0, closing.contentLength == UInt64(count), bytes.suffix(tail.count) == tail
        else { return nil }
        return bytes.prefix(count)
    }

    private struct Closing {
        var headLength: UInt32 = 0
        var contentLength: UInt64
        var content: UInt64
        var head: UInt64 = 0

        init(contentLength: UInt64, content: UInt64) {
            self.contentLength = contentLength
            self.content = content
        }

        init?(_ bytes: Data) {
            guard bytes.count >= EntryRecord.closingBytes else { return nil }
            var reader = RecordReader(bytes.suffix(EntryRecord.closingBytes))
            guard reader.number32() == EntryRecord.version, let headLength = reader.number32(),
                let contentLength = reader.number64(), let content = reader.number64(),
                let head = reader.number64()
            else { return nil }
            self.headLength = headLength
            self.contentLength = contentLength
            self.content = content
            self.head = head
        }

        func write(_ writer: inout RecordWriter) {
            writer.add(EntryRecord.version)
            writer.add(headLength)
            writer.add(contentLength)
            writer.add(content)
            writer.add(head)
        }

        func checksum(of bytes: some ContiguousBytes) -> UInt64 {
            XXHash64.hash(
                [XXHash64.hash(bytes), UInt64(headLength), contentLength, content])
        }

        // The bytes behind the content; nil if the lengths are not those of so many bytes.
        func tailBytes(in count: Int) -> Int? {
            let tail = Int(headLength) + EntryRecord.closingBytes
            guard count >= tail, contentLength == UInt64(count - tail) else { return nil }
            return tail
        }
    }
}
