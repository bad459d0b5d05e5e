// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The parameters of compression that client and server agreed on (RFC 7692 §7).
struct DeflateAgreement: Equatable {
    /// Whether the server begins a new stream for each message.
    var serverForgets = false
    /// Whether the client begins a new stream for each message.
    var clientForgets = false
    var serverWindowBits = 15
    var clientWindowBits = 15

    static let name = "permessage-deflate"

    static let offer = "\(name); client_max_window_bits"

    /// Reads the server's response, and returns nil if the server chose no extension.
    /// - Throws: A violation if the client did not offer the chosen extension or does not support
    ///   it.
    static func read(_ field: String?, wasOffered: Bool) throws(Violation) -> DeflateAgreement? {
        guard let field, !Grammar.trimmed(field).isEmpty else { return nil }
        let extensions = field.split(separator: ",", omittingEmptySubsequences: false)
        let parts = extensions[0].split(separator: ";", omittingEmptySubsequences: false)
            .map { String(Grammar.trimmed($0)) }
        guard wasOffered, extensions.count == 1, parts[0] == Self.name else {
            throw refusal("the server chose an extension that was not offered")
        }
        var agreement = DeflateAgreement()
        var names: Set<String> = []
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(Grammar.trimmed($0)) }
            guard names.insert(pair[0]).inserted else {
                throw refusal("the server named a parameter of \(name) twice")
            }
            try agreement.set(pair[0], pair.count == 2 ? pair[1] : nil)
        }
        return agreement
    }

    private mutating func set(_ name: String, _ value: String?) throws(Violation) {
        switch (name, value) {
        case ("server_no_context_takeover", nil): serverForgets = true
        case ("client_no_context_takeover", nil): clientForgets = true
        case ("server_max_window_bits", let value?): serverWindowBits = try Self.bits(value)
        case ("client_max_window_bits", let value?):
            clientWindowBits = try Self.bits(value)
            if clientWindowBits == 8 {
                throw Self.refusal(
                    "the server asks for a window of 8 bits, which zlib does not support")
            }
        default: throw Self.refusal("the server sent an invalid parameter of \(Self.name)")
        }
    }

    private static func bits(_ value: String) throws(Violation) -> Int {
        // A value may be quoted (RFC 6455 §9.1).
        let isQuoted = value.count > 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
        let text = isQuoted ? String(value.dropFirst().dropLast()) : value
        guard let bits = (8...15).first(where: { String($0) == text }) else {
            throw refusal("the server chose a window outside of 8 to 15 bits")
        }
        return bits
    }

    private static func refusal(_ message: String) -> Violation {
        Violation(WebSocket.CloseCode(rawValue: 1010), message)
    }
}
