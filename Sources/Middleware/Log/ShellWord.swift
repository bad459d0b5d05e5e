// SPDX-License-Identifier: Apache-2.0

/// Words of a POSIX shell's command line (XCU §2.2).
enum ShellWord {
    /// Text as one word that the shell takes literally.
    static func quoted(_ text: String) -> String {
        // Splits bytes, as the shell does: Swift makes one character of a quote and a combining
        // mark.
        let parts = text.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
        return "'" + parts.map { String(Substring($0)) }.joined(separator: "'\\''") + "'"
    }

    /// Whether a terminal shows the text as it is: no line ends, no control or format characters.
    static func isPrintable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
                .paragraphSeparator:
                false
            default: true
            }
        }
    }

    /// Bytes as a quoted format for `printf`, in ASCII.
    static func printfFormat(_ bytes: some Sequence<UInt8>) -> String {
        var format = ""
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "%"): format += "%%"
            case UInt8(ascii: "'"), UInt8(ascii: "\\"): format += octal(byte)
            // A leading hyphen would start an option.
            case UInt8(ascii: "-") where index == 0: format += octal(byte)
            case 0x20..<0x7F: format.unicodeScalars.append(Unicode.Scalar(byte))
            default: format += octal(byte)
            }
        }
        return "'" + format + "'"
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
