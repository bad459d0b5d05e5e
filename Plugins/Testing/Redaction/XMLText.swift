// SPDX-License-Identifier: Apache-2.0

enum XMLText {
    /// Resolves entities and character references, except unknown references.
    static func meaning(of text: ArraySlice<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        var rest = text
        while let start = rest.firstIndex(of: UInt8(ascii: "&")) {
            plain += rest[..<start]
            rest = rest[start...]
            let name = rest.dropFirst().prefix(12).prefix { $0 != UInt8(ascii: ";") }
            if name.endIndex < rest.endIndex, rest[name.endIndex] == UInt8(ascii: ";"),
                let scalar = scalar(named: name)
            {
                plain += String(scalar).utf8
                rest = rest[(name.endIndex + 1)...]
            } else {
                plain.append(rest.removeFirst())
            }
        }
        return plain + rest
    }

    private static func scalar(named name: ArraySlice<UInt8>) -> Unicode.Scalar? {
        switch String(decoding: name, as: UTF8.self) {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case let name where name.hasPrefix("#x"):
            UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case let name where name.hasPrefix("#"):
            UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }

    /// Escapes special characters in ASCII, because the document may be in any charset.
    static func escaped(_ text: [UInt8]) -> [UInt8] {
        String(decoding: text, as: UTF8.self).unicodeScalars.flatMap { scalar -> [UInt8] in
            let isSpecial = !scalar.isASCII || "&<>\"'".unicodeScalars.contains(scalar)
            return isSpecial ? Array("&#\(scalar.value);".utf8) : [UInt8(scalar.value)]
        }
    }

    /// The encodings that a document declares.
    ///
    /// If the declaration itself is ASCII text, parsers ignore a declared UTF-16.
    static func declaredEncodings(_ content: [UInt8]) -> [String] {
        let plain = String(decoding: content.prefix(400).filter { $0 < 0x80 }, as: UTF8.self)
        guard let end = plain.firstRange(of: "?>"), plain.contains("<?xml") else { return [] }
        return plain[..<end.lowerBound].matches(of: /encoding\s*=\s*["']([^"']*)["']/).map {
            String($0.1)
        }.filter { !$0.lowercased().hasPrefix("utf-16") }
    }
}
