// SPDX-License-Identifier: Apache-2.0

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
        parameters["filename*"].flatMap(ExtendedValue.decode) ?? parameters["filename"]
    }
}
