import Foundation
import TurnpikeCore

/// What a parser of XML must not be given, found before it is: declarations of entities, which make
/// gigabytes of a few bytes or read files, and encodings that could hide them.
enum XMLGuard {
    static func check(_ content: Data) throws {
        if content.isEmpty { throw fault("is empty") }
        let start = content.prefix(4)
        if start.contains(0) || start.starts(with: [0xFE, 0xFF])
            || start.starts(with: [0xFF, 0xFE])
        {
            throw fault("is in UTF-16 or UTF-32; UTF-8 and encodings that extend ASCII are read")
        }
        try checkEncoding(content.prefix(256))
        // A declaration of a document's type without an inner part is harmless, one with it is where
        // entities come from. In a comment or in CDATA it cannot be told apart in passing.
        if contains(content, "<!ENTITY") || contains(content, "<!DOCTYPE", before: "[") {
            throw fault("declares entities, which are not read")
        }
    }

    static func fault(_ reason: String) -> ClientError {
        ClientError(.serialization, "the XML document \(reason)")
    }

    // Only encodings in which ASCII stands for itself.
    private static func checkEncoding(_ start: Data) throws {
        let text = String(decoding: start, as: UTF8.self)
        guard let declaration = text.firstMatch(of: /<\?xml[^>]*?encoding\s*=\s*["']([^"']*)["']/)
        else { return }
        let name = declaration.1.lowercased()
        let isKnown =
            name == "utf-8" || name == "utf8" || name == "us-ascii" || name == "ascii"
            || name.hasPrefix("iso-8859-") || name.hasPrefix("windows-125")
        if !isKnown { throw fault("is in an encoding that is not read") }
    }

    private static func contains(_ content: Data, _ text: String, before end: String? = nil) -> Bool
    {
        var rest = content[...]
        let pattern = Data(text.utf8)
        while let found = rest.range(of: pattern) {
            guard let end else { return true }
            rest = rest[found.upperBound...]
            let close = rest.firstIndex(of: UInt8(ascii: ">")) ?? rest.endIndex
            if rest[..<close].contains(where: { end.utf8.first == $0 }) { return true }
        }
        return false
    }
}
