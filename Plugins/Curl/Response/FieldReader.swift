// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// Reads field lines: each byte is looked at once.
struct FieldReader {
    private(set) var headers = HTTPHeaders()
    private(set) var length = DeclaredLength()
    private(set) var isChunked = false

    private let names = FieldNames.shared
    // The beginning of a field whose value continues in the next line.
    private var beginning: [UInt8] = []

    init() { headers.reserveCapacity(16) }

    /// Reads a line; a field that is folded into several is one with blanks in their place (RFC 9112
    /// §5.2).
    /// - Parameters:
    ///   - line: The line without its end.
    ///   - isContinued: Whether the next line belongs to the same field.
    /// - Returns: The fault, or nil.
    mutating func read(
        _ line: UnsafeBufferPointer<UInt8>, isContinued: Bool
    ) -> String? {
        if !isContinued, beginning.isEmpty { return unsafe read(line) ? nil : "has no colon" }
        unsafe beginning += line
        if isContinued {
            beginning.append(UInt8(ascii: " "))
            return nil
        }
        let whole = beginning
        beginning = []
        guard unsafe whole.withUnsafeBufferPointer({ unsafe read($0) }) else {
            return "has no colon"
        }
        // libcurl has read each line by itself, and would end the content elsewhere.
        let frames = headers.last.map { $0.name == .contentLength || $0.name == .transferEncoding }
        return frames == true ? "that frames the content is folded" : nil
    }

    // Whether it is a field line at all.
    private mutating func read(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let colon = unsafe line.firstIndex(of: UInt8(ascii: ":"), from: 0) else {
            return false
        }
        var start = colon + 1
        var end = line.count
        while start < end, unsafe Grammar.isBlank(line[start]) { start += 1 }
        while end > start, unsafe Grammar.isBlank(line[end - 1]) { end -= 1 }
        let content = unsafe UnsafeBufferPointer(rebasing: line[start..<end])
        let name = unsafe names.name(UnsafeBufferPointer(rebasing: line[..<colon]))
        let value =
            unsafe content.isASCII ? String(decoding: content, as: UTF8.self) : text(content)
        switch colon {
        case 14 where name == .contentLength: length.add(value)
        case 17 where name == .transferEncoding: isChunked = true
        default: break
        }
        headers.appendReceived(name, value)
        return true
    }

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

    /// Whether all bytes are ASCII.
    fileprivate var isASCII: Bool {
        // Without a branch for each byte, so that the compiler takes many at once.
        var bits: UInt8 = 0
        for index in indices { bits |= unsafe self[index] }
        return bits < 0x80
    }
}

/// The names of fields that servers send, so that they need not be made and checked for each
/// response.
struct FieldNames: Sendable {
    private struct Known: Sendable {
        let bytes: StaticString
        let name: HTTPHeaders.Name

        init(_ bytes: StaticString) {
            self.bytes = bytes
            name = HTTPHeaders.Name(bytes.description)
        }
    }

    static let shared = FieldNames()

    // By the length of the name.
    private let known: [[Known]]

    private init() {
        var known = [[Known]](repeating: [], count: 33)
        for spelling in Self.spellings { known[spelling.utf8CodeUnitCount].append(Known(spelling)) }
        self.known = known
    }

    /// The name that bytes spell.
    func name(_ bytes: UnsafeBufferPointer<UInt8>) -> HTTPHeaders.Name {
        if bytes.count < known.count {
            for known in known[bytes.count] where unsafe known.bytes.isSpelled(by: bytes) {
                return known.name
            }
        }
        return HTTPHeaders.Name(unsafe String(decoding: bytes, as: UTF8.self))
    }

    // As HTTP/1.1 servers spell them, and in the lower case of HTTP/2.
    private static let spellings: [StaticString] = [
        "Accept-Ranges", "Age", "Alt-Svc", "Cache-Control", "Connection", "Content-Encoding",
        "Content-Language", "Content-Length", "Content-Type", "Date", "ETag", "Etag", "Expires",
        "Keep-Alive", "Last-Modified", "Link", "Location", "Server", "Set-Cookie",
        "Strict-Transport-Security", "Transfer-Encoding", "Vary", "Via", "X-Content-Type-Options",
        "X-Frame-Options", "X-Request-ID",
        "accept-ranges", "age", "alt-svc", "cache-control", "connection", "content-encoding",
        "content-language", "content-length", "content-type", "date", "etag", "expires",
        "keep-alive", "last-modified", "link", "location", "server", "set-cookie",
        "strict-transport-security", "transfer-encoding", "vary", "via", "x-content-type-options",
        "x-frame-options", "x-request-id",
    ]
}

extension StaticString {
    fileprivate func isSpelled(by bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        return unsafe memcmp(utf8Start, base, bytes.count) == 0
    }
}
