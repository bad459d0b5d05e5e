import Foundation
import TurnpikeCore

/// Reads field lines: each byte is looked at once.
struct FieldReader {
    private(set) var headers = HTTPHeaders()
    private(set) var length = DeclaredLength()
    private(set) var isChunked = false

    private let names = FieldNames.shared

    init() { headers.reserveCapacity(16) }

    /// - Returns: Whether it is a field line at all.
    mutating func read(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":"), from: 0) else {
            return false
        }
        var start = colon + 1
        var end = line.count
        while start < end, unsafe isBlank(line[start]) { start += 1 }
        while end > start, unsafe isBlank(line[end - 1]) { end -= 1 }
        let content = unsafe UnsafeBufferPointer(rebasing: line[start..<end])
        let (isPlain, isASCII) = unsafe content.kind
        let (name, isToken) = unsafe names.name(UnsafeBufferPointer(rebasing: line[..<colon]))
        let value = unsafe isASCII ? String(decoding: content, as: UTF8.self) : text(content)
        switch colon {
        case 14 where name == .contentLength: length.add(value)
        case 17 where name == .transferEncoding: isChunked = true
        default: break
        }
        if isToken, isPlain {
            headers.appendChecked(name, value)
        } else {
            headers.appendReceived(name, value)
        }
        return true
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    // UTF-8, or else what was meant by one byte a character (RFC 9110 §5.5).
    private func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        unsafe String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The first place of a byte, from a place on.
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard start < count, let base = baseAddress,
            let place = unsafe memchr(base + start, Int32(byte), count - start)
        else { return nil }
        return unsafe UnsafeRawPointer(place) - UnsafeRawPointer(base)
    }

    /// Whether there is no control character but tabs, and whether all of it is ASCII.
    fileprivate var kind: (isPlain: Bool, isASCII: Bool) {
        let bytes = UnsafeRawBufferPointer(self)
        var index = 0
        while index + 8 <= count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // The high bit of a byte stays where it is below 0x20, 0x7F, or no ASCII; one that is
            // set by a neighbour's borrow only costs the slow way.
            let below = word &- 0x2020_2020_2020_2020
            let delete = (word ^ 0x7F7F_7F7F_7F7F_7F7F) &- 0x0101_0101_0101_0101
            if (below | delete | word) & 0x8080_8080_8080_8080 != 0 { break }
            index += 8
        }
        var (isPlain, isASCII) = (true, true)
        while index < count {
            let byte = unsafe self[index]
            if byte >= 0x80 { isASCII = false }
            if byte == 0x7F || (byte < 0x20 && byte != 0x09) { isPlain = false }
            index += 1
        }
        return (isPlain, isASCII)
    }
}
