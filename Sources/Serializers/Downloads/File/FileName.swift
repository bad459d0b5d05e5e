// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore
import TurnpikeSupport

/// File names that come from a peer.
enum FileName {
    /// The longest name in bytes on common file systems.
    static let maxBytes = 255

    /// Returns the name as one safe path component, or nil if nothing is left of it.
    ///
    /// Only the part after the last slash or backslash is used. Control characters and characters
    /// that change the text direction are removed. Dots and spaces at both ends are removed, so
    /// that the name is neither `..` nor hidden. Names with a leading hyphen and names of devices
    /// get an underscore. The name is truncated to 255 bytes and keeps its extension.
    ///
    /// The scan uses scalars rather than characters: a combining mark after a slash forms one
    /// character with it, which is not a slash in Swift but is one in the file system.
    static func safe(_ name: String) -> String? {
        let parts = name.unicodeScalars.split(omittingEmptySubsequences: false) {
            $0 == "/" || $0 == "\\"
        }
        guard let last = parts.last else { return nil }
        var scalars = String.UnicodeScalarView()
        for scalar in last where !isHarmful(scalar) { scalars.append(scalar) }
        var name = trimmed(String(scalars))
        if name.isEmpty { return nil }
        if name.unicodeScalars.first == "-" || isDevice(name) { name = "_" + name }
        return cut(name)
    }

    /// Returns the last path component of a URL as a safe name.
    static func of(_ url: URL) -> String? {
        let path = url.path(percentEncoded: true)
        guard !path.hasSuffix("/"), let last = path.split(separator: "/").last else { return nil }
        return last.removingPercentEncoding.flatMap(safe)
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }

    private static func trimmed(_ name: String) -> String {
        func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
            scalar == "." || scalar.properties.isWhitespace
        }
        var rest = name.unicodeScalars[...]
        while let first = rest.first, isTrimmed(first) { rest.removeFirst() }
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return String(rest)
    }

    private static func isDevice(_ name: String) -> Bool {
        let stem = String(name.unicodeScalars.prefix { $0 != "." }).uppercased()
        if ["CON", "PRN", "AUX", "NUL"].contains(stem) { return true }
        guard stem.count == 4, let digit = stem.last, ("1"..."9").contains(digit) else {
            return false
        }
        return stem.hasPrefix("COM") || stem.hasPrefix("LPT")
    }

    // Returns nil if truncation would leave nothing before the extension.
    private static func cut(_ name: String) -> String? {
        guard name.utf8.count > maxBytes else { return name }
        var ending = ""
        // Searches bytes, because stepping back by characters may scan the whole name.
        if let dot = name.utf8.suffix(32).lastIndex(of: UInt8(ascii: ".")) {
            ending = String(name[dot...])
        }
        let room = maxBytes - ending.utf8.count
        var stem = ""
        for character in name {
            guard stem.utf8.count + String(character).utf8.count <= room else { break }
            stem.append(character)
        }
        let kept = trimmed(stem)
        return kept.isEmpty ? nil : kept + ending
    }
}

extension ResponseHead {
    /// The file name that the response suggests.
    ///
    /// The name comes from `Content-Disposition` (RFC 6266), otherwise from the last path component
    /// of the URL; without either it is `download`. It is one path component of at most 255 bytes
    /// without control characters, and neither hidden nor `..`.
    public var suggestedFilename: String {
        headers[.contentDisposition].flatMap { ContentDisposition(parsing: $0).filename }
            .flatMap(FileName.safe) ?? FileName.of(url) ?? "download"
    }
}

/// A `Content-Disposition` field (RFC 6266): its type and the file name in it.
struct ContentDisposition: Equatable {
    /// The type in lower case: `attachment`, `inline`, `form-data`.
    let type: String
    /// The parameters with names in lower case; of several parameters with one name, the first.
    let parameters: [String: String]

    /// Parses the value of a field and ignores invalid parts.
    init(parsing text: String) {
        let parts = Grammar.split(text[...], at: UInt8(ascii: ";"))
        type = Grammar.trimmed(parts[0]).lowercased()
        var parameters: [String: String] = [:]
        for part in parts.dropFirst() {
            guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = Grammar.trimmed(part[..<equals]).lowercased()
            if parameters[name] != nil { continue }
            parameters[name] = Grammar.unquoted(
                Grammar.trimmed(part[part.utf8.index(after: equals)...]))
        }
        self.parameters = parameters
    }

    /// The file name: `filename*` if it can be decoded, otherwise `filename`.
    var filename: String? {
        parameters["filename*"].flatMap(ExtendedValue.decode) ?? parameters["filename"]
    }
}
