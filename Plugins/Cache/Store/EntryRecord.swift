// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// A stored response and its content as bytes, for remote stores.
///
/// The content comes first, and a store can use the content without a copy. The head follows, and
/// at the end a closing of ``closingBytes`` bytes with the lengths and checksums of content and
/// head. Truncated or damaged bytes, or bytes of another format version, are not a record. The head
/// of a record with known checksums is not read again, and may be damaged. The checksums detect
/// accidents. The checksums do not protect against a person who can write to the store.
public struct EntryRecord: Sendable {
    private final class Storage: Sendable {
        let response: StoredResponse
        let tail: Data
        let closing: Closing

        init(_ response: StoredResponse, _ tail: Data, _ closing: Closing) {
            self.response = response
            self.tail = tail
            self.closing = closing
        }
    }

    // A record is one reference, because a store copies the record at each hit.
    private let storage: Storage

    /// The response.
    public var response: StoredResponse { storage.response }
    /// The bytes of the head and the closing, which follow the content.
    ///
    /// Two entries with the same key and variant have different bytes if they were stored at
    /// different times.
    public var tail: Data { storage.tail }
    private var closing: Closing { storage.closing }

    /// The length of the closing, in bytes.
    ///
    /// The closing contains little-endian numbers: the version, the length of the head, the length
    /// of the content, the checksum of the content, and the checksum of the head and the lengths.
    public static let closingBytes = 32
    // "TrC" and a version. The version changes with the format and with the access rules.
    private static let version: UInt32 = 0x0143_7254

    private init(response: StoredResponse, tail: Data, _ closing: Closing) {
        storage = Storage(response, tail, closing)
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

    /// Returns the record of the same content with another head.
    public func replacing(_ response: StoredResponse) -> EntryRecord {
        EntryRecord(response, closing)
    }

    /// Reads the bytes after the content, or returns nil if the bytes are incomplete.
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

    /// Reads the record at the end of bytes, and checks the head but not the content.
    /// - Parameters:
    ///   - bytes: The content and the bytes after the content.
    ///   - known: An earlier record. If both closings are equal, the result is this record.
    /// - Returns: The record; nil if the bytes are not complete.
    public static func read(_ bytes: Data, knowing known: EntryRecord? = nil) -> EntryRecord? {
        guard let closing = Closing(bytes), let tailBytes = closing.tailBytes(in: bytes.count)
        else { return nil }
        if let known, known.closing == closing { return known }
        // The record must not keep the memory of the content.
        return EntryRecord(tail: bytes.suffix(tailBytes).exact)
    }

    /// The content before the record; the content shares the memory of `bytes`.
    /// - Parameter bytes: The content and the bytes after the content.
    /// - Returns: The content; nil if the record belongs to other content.
    public func content(of bytes: Data) -> Data? {
        guard let tailBytes = closing.tailBytes(in: bytes.count) else { return nil }
        let count = bytes.count - tailBytes
        let isRight = unsafe bytes.withUnsafeBytes { bytes in
            unsafe XXHash64.hash(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                == closing.content
        }
        return isRight ? bytes.prefix(count) : nil
    }

    private struct Closing: Sendable, Equatable {
        var headLength: UInt32 = 0
        var contentLength: UInt64
        var content: UInt64
        var head: UInt64 = 0

        init(contentLength: UInt64, content: UInt64) {
            self.contentLength = contentLength
            self.content = content
        }

        init?(_ bytes: Data) {
            let closing = unsafe bytes.withUnsafeBytes { unsafe Closing(atEndOf: $0) }
            guard let closing else { return nil }
            self = closing
        }

        private init?(atEndOf bytes: UnsafeRawBufferPointer) {
            let start = bytes.count - EntryRecord.closingBytes
            guard start >= 0 else { return nil }
            func number<Number: FixedWidthInteger>(_ offset: Int) -> Number {
                let number = unsafe bytes.loadUnaligned(
                    fromByteOffset: start + offset, as: Number.self)
                return Number(littleEndian: number)
            }
            guard number(0) == EntryRecord.version else { return nil }
            headLength = number(4)
            contentLength = number(8)
            content = number(16)
            head = number(24)
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

        // Returns the number of bytes after the content, or nil if the lengths do not match.
        func tailBytes(in count: Int) -> Int? {
            let tail = Int(headLength) + EntryRecord.closingBytes
            guard count >= tail, contentLength == UInt64(count - tail) else { return nil }
            return tail
        }
    }
}

extension EntryRecord: Equatable {
    /// Whether two records have the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        left.storage === right.storage || left.tail == right.tail
    }
}
