// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The value of a `Strict-Transport-Security` line (RFC 6797 §6.1).
struct HSTSPolicy: Hashable, Sendable {
    /// The seconds for which the host requires TLS; 0 withdraws the policy.
    let maxAge: Int64
    let includesSubdomains: Bool

    // Ten years, in seconds. A longer time counts as ten years.
    private static let longest: Int64 = 10 * 366 * 86_400

    /// Parses a line, or returns nil if the line has no `max-age`, repeats a directive, or breaks
    /// the syntax.
    init?(_ text: String) {
        // A transport may have joined several lines with commas. The first line takes precedence
        // (RFC 6797 §8.1).
        guard let line = Grammar.split(text[...], at: UInt8(ascii: ",")).first else { return nil }
        var seen: Set<String> = []
        var maxAge: Int64?
        var includesSubdomains = false
        for directive in Grammar.split(line, at: UInt8(ascii: ";")) {
            // The code splits bytes, because a search for a `Character` may read any amount of
            // earlier text.
            let parts = directive.utf8.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false
            ).map { Substring($0) }
            let name = Grammar.trimmed(parts[0]).lowercased()
            if name.isEmpty && parts.count == 1 { continue }
            guard Grammar.isToken(name), seen.count < 32, seen.insert(name).inserted else {
                return nil
            }
            let value = parts.count > 1 ? Grammar.trimmed(parts[1]) : nil
            switch name {
            case "max-age":
                guard let seconds = value.flatMap(Self.seconds) else { return nil }
                maxAge = seconds
            case "includesubdomains":
                guard value == nil else { return nil }
                includesSubdomains = true
            default: break
            }
        }
        guard let maxAge else { return nil }
        self.maxAge = maxAge
        self.includesSubdomains = includesSubdomains
    }

    private static func seconds(_ text: Substring) -> Int64? {
        var digits = text
        if digits.utf8.count > 1, digits.utf8.first == UInt8(ascii: "\""),
            digits.utf8.last == UInt8(ascii: "\"")
        {
            digits = Substring(digits.utf8.dropFirst().dropLast())
        }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else {
            return nil
        }
        return min(Int64(digits) ?? longest, longest)
    }
}
