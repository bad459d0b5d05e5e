// SPDX-License-Identifier: Apache-2.0

public import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A character encoding that is named by a peer.
public enum Charset {
    case foundation(String.Encoding)
    /// An encoding that the C library's iconv supports, but Foundation on Linux does not.
    case library(String)

    /// Creates the encoding for a label, ignoring ASCII case and surrounding whitespace.
    ///
    /// Returns nil if this library or the system's C library does not know the encoding.
    public init?(label: String) {
        let name = Self.name(of: label.trimmingCharacters(in: .whitespaces).lowercased())
        switch name {
        case "utf-8": self = .foundation(.utf8)
        // Without a byte order mark, UTF-16 is big-endian (RFC 2781 §4.3).
        case "utf-16": self = .foundation(.utf16BigEndian)
        case "utf-32": self = .foundation(.utf32BigEndian)
        case "iso-8859-1": self = .foundation(.isoLatin1)
        // UTF-7 can hide markup; the WHATWG standard forbids it too.
        case "utf-7": return nil
        default:
            if Self.iconvNames.contains(name) {
                guard Self.libraryKnows(name) else { return nil }
                self = .library(name)
            } else if let encoding = String.Encoding(ianaName: name) {
                self = .foundation(encoding)
            } else {
                return nil
            }
        }
    }

    private static let macRoman = "macintosh"

    // `iconv_open` loads modules by name, so only the names of this list are passed to it.
    private static let iconvNames: Set<String> = [
        "koi8-r", "koi8-u", "euc-jp", "iso-2022-jp", "gbk", "gb18030", "big5", "big5-hkscs",
        "cp949",
        "euc-tw",
        "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8",
        "iso-8859-9", "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16",
        "tis-620", "windows-874", "windows-1255", "windows-1256", "windows-1257", "windows-1258",
        "ibm866", "cp866", "iso-2022-kr",
        // Foundation on Linux decodes this encoding incorrectly.
        macRoman,
    ]

    /// Returns the encoding of a byte order mark, and the length of the mark.
    public static func byteOrderMark(of content: Data) -> (Charset, Int)? {
        if content.starts(with: [0xEF, 0xBB, 0xBF]) { return (.foundation(.utf8), 3) }
        if content.starts(with: [0xFF, 0xFE, 0, 0]) { return (.foundation(.utf32LittleEndian), 4) }
        if content.starts(with: [0, 0, 0xFE, 0xFF]) { return (.foundation(.utf32BigEndian), 4) }
        if content.starts(with: [0xFF, 0xFE]) { return (.foundation(.utf16LittleEndian), 2) }
        if content.starts(with: [0xFE, 0xFF]) { return (.foundation(.utf16BigEndian), 2) }
        return nil
    }

    /// Returns the text, or nil if the bytes are not valid in the encoding.
    public func decode(_ content: Data) -> String? {
        switch self {
        case .foundation(.utf8): String(validating: content, as: UTF8.self)
        case .foundation(.macOSRoman): Self.convert(content, from: Self.macRoman)
        // Foundation ignores an incomplete code unit at the end.
        case .foundation(let encoding) where content.count % Self.unitBytes(encoding) != 0: nil
        case .foundation(let encoding): String(data: content, encoding: encoding)
        case .library(let name): Self.convert(content, from: name)
        }
    }

    // The size of a code unit in bytes.
    private static func unitBytes(_ encoding: String.Encoding) -> Int {
        switch encoding {
        case .utf16, .utf16LittleEndian, .utf16BigEndian: 2
        case .utf32, .utf32LittleEndian, .utf32BigEndian: 4
        default: 1
        }
    }

    #if canImport(Glibc) || canImport(Musl)
    private static func libraryKnows(_ name: String) -> Bool {
        let converter = unsafe iconv_open("UTF-8", name)
        guard let converter = unsafe converter, Int(bitPattern: converter) != -1 else {
            return false
        }
        return unsafe iconv_close(converter) == 0
    }

    private static func convert(_ content: Data, from name: String) -> String? {
        let converter = unsafe iconv_open("UTF-8", name)
        guard let converter = unsafe converter, Int(bitPattern: converter) != -1 else { return nil }
        defer { _ = unsafe iconv_close(converter) }
        var input = Array(content)
        // No encoding of the list expands one byte to more than four.
        var output = [UInt8](repeating: 0, count: input.count * 4 + 16)
        let written = unsafe input.withUnsafeMutableBytes { input in
            unsafe output.withUnsafeMutableBytes { output -> Int? in
                var source = unsafe input.baseAddress?.assumingMemoryBound(to: CChar.self)
                var sourceLeft = input.count
                var target = unsafe output.baseAddress?.assumingMemoryBound(to: CChar.self)
                var targetLeft = output.count
                let result = unsafe iconv(converter, &source, &sourceLeft, &target, &targetLeft)
                if result == .max || sourceLeft > 0 { return nil }
                // Flushes a last letter that was held back because a combining mark could have
                // followed.
                let rest = unsafe iconv(converter, nil, nil, &target, &targetLeft)
                return rest == .max ? nil : output.count - targetLeft
            }
        }
        return written.map { String(decoding: output[..<$0], as: UTF8.self) }
    }
    #else
    private static func libraryKnows(_ name: String) -> Bool { false }
    private static func convert(_ content: Data, from name: String) -> String? { nil }
    #endif
}
