import Foundation
public import TurnpikeCore

/// Names of files that someone else has thought up.
enum FileName {
    /// The most bytes that a name has on common file systems.
    static let maxBytes = 255

    /// The name as one harmless path component, or nil where nothing is left of it.
    ///
    /// Only what stands behind the last slash or backslash counts. Control characters and those
    /// that turn the direction of text go; dots and blanks at the ends go, so that the name is
    /// neither `..` nor hidden; a leading hyphen and the names of devices get an underscore; the
    /// rest is cut to 255 bytes before its extension.
    ///
    /// Scalars are looked at, never characters: a mark or a joiner behind a slash makes one
    /// character with it that is no slash, and that the file system takes for one.
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

    /// The last component of a URL's path as a name.
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

    // nil where one character alone is too long, for what is behind it may be an extension.
    private static func cut(_ name: String) -> String? {
        guard name.utf8.count > maxBytes else { return name }
        var ending = ""
        // Bytes and scalars: to step back by characters may cost all that stands before.
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
    /// The file name that the response suggests (RFC 6266), else the last component of its URL's
    /// path, else `download`: one path component of at most 255 bytes, neither hidden nor `..`,
    /// without control characters.
    public var suggestedFilename: String {
        headers[.contentDisposition].flatMap { ContentDisposition(parsing: $0).filename }
            .flatMap(FileName.safe) ?? FileName.of(url) ?? "download"
    }
}
