// SPDX-License-Identifier: Apache-2.0

/// Parameter values in the extended notation (RFC 8187): `UTF-8'en'%e2%82%ac%20rates`.
public enum ExtendedValue {
    /// Decodes a value, without its language.
    /// - Parameter text: The value with its character encoding: UTF-8, or ISO-8859-1, which older senders
    ///   use.
    /// - Returns: The value, or nil if the text is not in this notation.
    public static func decode(_ text: String) -> String? {
        let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = bytes(of: parts[2]) else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1":
            var scalars = String.UnicodeScalarView()
            for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
            return String(scalars)
        default: return nil
        }
    }

    private static func bytes(of text: Substring) -> [UInt8]? {
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
