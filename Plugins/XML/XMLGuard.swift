import Foundation
import TurnpikeCore

/// What a parser of XML must not be given, found before it is: declarations of entities, which make
/// gigabytes of a few bytes or read files, and encodings that could hide them.
enum XMLGuard {
    static func check(_ content: Data) throws {
        if content.isEmpty { throw fault("is empty") }
        // Marks in other bytes than those of ASCII: UTF-16, UTF-32, EBCDIC.
        let start = content.drop { $0 <= 0x20 && $0 != 0 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
        if content.prefix(4).contains(0) || start.first != UInt8(ascii: "<") {
            throw fault("does not begin with <; UTF-8 and encodings that extend ASCII are read")
        }
        // Foundation takes for granted that names are valid, and the process ends where they are not;
        // what is declared as another encoding is made UTF-8 before it gets there.
        if try isUTF8(start), String(validating: content, as: UTF8.self) == nil {
            throw fault("is not valid UTF-8")
        }
        // A declaration of a document's type without an inner part is harmless, one with it is where
        // entities come from. In a comment or in CDATA it cannot be told apart in passing.
        if contains(content, "<!ENTITY") || contains(content, "<!DOCTYPE", before: "[") {
            throw fault("declares entities, which are not read")
        }
    }

    static func fault(_ reason: String) -> ClientError {
        ClientError(.serialization, "the XML document \(reason)")
    }

    // Whether the content is UTF-8 by its declaration. Only encodings in which ASCII stands for
    // itself are read.
    private static func isUTF8(_ content: Data) throws -> Bool {
        guard content.starts(with: "<?xml".utf8) else { return true }
        // All of the declaration, however long: what is not looked at is read all the same.
        let end = content.range(of: Data("?>".utf8))?.upperBound ?? content.endIndex
        let text = String(decoding: content[..<end], as: UTF8.self)
        let names = text.matches(of: /encoding\s*=\s*["']([^"']*)["']/).map { $0.1.lowercased() }
        guard names.count == text.ranges(of: "encoding").count, names.allSatisfy(isASCII) else {
            throw fault("is in an encoding that is not read")
        }
        return names.allSatisfy { !$0.contains("-125") && !$0.hasPrefix("iso") }
    }

    private static func isASCII(_ name: String) -> Bool {
        ["utf-8", "utf8", "us-ascii", "ascii"].contains(name) || name.hasPrefix("iso-8859-")
            || name.hasPrefix("windows-125")
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
            // What stands before the same `>` has been looked at.
            rest = rest[close...]
        }
        return false
    }
}
