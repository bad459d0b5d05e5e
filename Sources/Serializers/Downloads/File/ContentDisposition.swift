import Foundation
import TurnpikeCore
import TurnpikeSupport

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
        parameters["filename*"].flatMap(Self.extended) ?? parameters["filename"]
    }

    /// Decodes an extended parameter value (RFC 8187): `UTF-8'en'%e2%82%ac%20rates`.
    static func extended(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = decoded(parts[2]) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1":
            var scalars = String.UnicodeScalarView()
            for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
            return String(scalars)
        default: return nil
        }
    }

    private static func decoded(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(digit),
                    let low = rest.popFirst().flatMap(digit)
                else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}
