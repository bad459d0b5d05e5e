import Foundation

/// Copies JSON text and leaves out the values of secret members.
///
/// It needs no valid text, and no whole one.
struct JSONRedactor {
    private let bytes: [UInt8]
    private let redaction: Redaction
    private let depth: Int
    private var output: [UInt8] = []
    private var position = 0

    init(_ text: String, _ redaction: Redaction, depth: Int = 0) {
        self.depth = depth
        bytes = Array(text.utf8)
        self.redaction = redaction
    }

    consuming func result() -> String {
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "\"") {
                copyString()
            } else {
                output.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private mutating func copyString() {
        let start = position
        skipString()
        output += redacted(bytes[start..<position])
        let name = position
        var next = position
        while next < bytes.count, bytes[next] <= 0x20 { next += 1 }
        guard next < bytes.count, bytes[next] == UInt8(ascii: ":"), hides(bytes[start..<name])
        else { return }
        position = next + 1
        output += Array(":\"\(Redaction.mark)\"".utf8)
        skipValue()
    }

    // A text may hold secrets of its own: a URL, a credential, JSON in JSON.
    private func redacted(_ literal: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let text = String(decoding: literal, as: UTF8.self)
        if literal.contains(UInt8(ascii: "{")), literal.contains(UInt8(ascii: "\\")) {
            return Array(nested(text).utf8)[...]
        }
        return Array(redaction.unescapedText(text, depth: depth).utf8)[...]
    }

    private func nested(_ literal: String) -> String {
        guard let inner = try? JSONValue(parsing: Data(literal.utf8)).string else {
            // Cut off: what it says cannot be told from what names it.
            return Redaction.isKeyLike(literal.lowercased()) ? "\"\(Redaction.mark)\"" : literal
        }
        guard depth < 3 else { return "\"\(Redaction.mark)\"" }
        let shown = JSONRedactor(inner, redaction, depth: depth + 1).result()
        return shown == inner ? literal : JSONValue.string(shown).description
    }

    private func hides(_ literal: ArraySlice<UInt8>) -> Bool {
        // The name as it is meant, escapes resolved.
        let name = try? JSONValue(parsing: Data(literal)).string
        return redaction.hides(key: name ?? String(decoding: literal, as: UTF8.self))
    }

    private mutating func skipString() {
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\\"): position += 2
            case UInt8(ascii: "\""):
                position += 1
                return
            default: position += 1
            }
        }
        position = min(position, bytes.count)
    }

    // Up to the comma or bracket that ends the value, nested ones included.
    private mutating func skipValue() {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                skipString()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                depth -= 1
            case UInt8(ascii: ","): if depth == 0 { return }
            default: break
            }
            position += 1
        }
    }
}
