// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// A link of a message to another resource: one value of the `Link` field (RFC 8288).
///
/// ```swift
/// let last = response.headers.links.first { $0.relations.contains("last") }
/// ```
public struct Link: Sendable, Hashable {
    struct Parameter: Sendable, Hashable {
        /// The name in lower case, with the asterisk of an extended notation (`title*`, RFC 8187).
        let name: String
        /// The value without quotes; for an extended notation, the decoded value.
        let value: String

        init(name: String, value: String) {
            self.name = name.lowercased()
            self.value = value
        }
    }

    /// The reference in the message, which may be relative to the URL of the message.
    public let reference: String
    /// The parameters in the order of the message, without repetitions that RFC 8288 forbids.
    let parameters: [Parameter]

    init(reference: String, parameters: [Parameter] = []) {
        self.reference = reference
        self.parameters = parameters
    }

    /// The relation types in lower case (`next`), without duplicates; extension types are URLs.
    public var relations: [String] {
        var seen: Set<String> = []
        return (self[parameter: "rel"] ?? "").split(separator: " ").map { $0.lowercased() }
            .filter { seen.insert($0).inserted }
    }

    /// The reference of the link's context, or nil for the resource of the message (§3.2).
    var anchor: String? { self[parameter: "anchor"] }

    /// The title of the target; the extended notation takes precedence (§3.4.1).
    var title: String? { self[parameter: "title*"] ?? self[parameter: "title"] }

    /// The value of the first parameter with a name, or nil if no parameter has the name.
    public subscript(parameter name: String) -> String? {
        parameters.first { $0.name == name.lowercased() }?.value
    }
}

extension HTTPHeaders {
    /// The links of all `Link` fields in the order of the fields (RFC 8288 §3).
    ///
    /// The parser is as lenient as RFC 8288, Appendix B.2. If a text does not begin with an angle
    /// bracket, the parser ignores the rest of the line. If a closing quote is missing, the quoted
    /// text extends to the end of the line. The parser ignores a repeated parameter that RFC 8288
    /// allows only once.
    public var links: [Link] {
        values(of: "Link").flatMap { line in
            var reader = LinkReader(line)
            var links: [Link] = []
            while let link = reader.next() { links.append(link) }
            return links
        }
    }
}

/// Reads the links of one line by the algorithm of RFC 8288, Appendix B.2 and B.3.
private struct LinkReader {
    private let bytes: [UInt8]
    private var position = 0
    // Repetitions of the parameters in this list are ignored (§3.3 and §3.4.1).
    private static let once: Set<String> = ["rel", "anchor", "media", "title", "title*", "type"]

    init(_ line: String) { bytes = Array(line.utf8) }

    mutating func next() -> Link? {
        skip { Grammar.isBlank($0) || $0 == UInt8(ascii: ",") }
        guard take(UInt8(ascii: "<")) else { return nil }
        let reference = text { $0 != UInt8(ascii: ">") }
        guard take(UInt8(ascii: ">")) else { return nil }
        var parameters: [Link.Parameter] = []
        var seen: Set<String> = []
        while let parameter = nextParameter() {
            let name = parameter.name
            if name.isEmpty || Self.once.contains(name) && !seen.insert(name).inserted { continue }
            parameters.append(parameter)
        }
        return Link(reference: reference, parameters: parameters)
    }

    // Returns nil at the end of the link.
    private mutating func nextParameter() -> Link.Parameter? {
        skip(Grammar.isBlank)
        guard take(UInt8(ascii: ";")) else {
            // Text between a parameter and the next comma is ignored.
            skip { $0 != UInt8(ascii: ",") }
            return nil
        }
        skip(Grammar.isBlank)
        let name = Grammar.trimmed(
            text { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") })
        var value = ""
        if take(UInt8(ascii: "=")) {
            skip(Grammar.isBlank)
            value = peek == UInt8(ascii: "\"") ? quoted() : token()
        }
        let lowercased = name.lowercased()
        guard lowercased.hasSuffix("*") else {
            return Link.Parameter(name: lowercased, value: value)
        }
        // An extended notation that cannot be decoded is ignored (RFC 8187 §3.2.1).
        guard let decoded = ExtendedValue.decode(value) else {
            return Link.Parameter(name: "", value: "")
        }
        return Link.Parameter(name: lowercased, value: decoded)
    }

    private mutating func token() -> String {
        Grammar.trimmed(text { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") })
    }

    private mutating func quoted() -> String {
        position += 1
        var value: [UInt8] = []
        while let byte = peek {
            position += 1
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\"), let escaped = peek {
                value.append(escaped)
                position += 1
            } else {
                value.append(byte)
            }
        }
        return String(decoding: value, as: UTF8.self)
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        if peek != byte { return false }
        position += 1
        return true
    }

    private mutating func skip(_ condition: (UInt8) -> Bool) {
        while let byte = peek, condition(byte) { position += 1 }
    }

    private mutating func text(_ condition: (UInt8) -> Bool) -> String {
        let start = position
        skip(condition)
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }
}
