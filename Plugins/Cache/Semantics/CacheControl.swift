// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The directives of `Cache-Control` (RFC 9111 §5.2, RFC 5861, RFC 8246) that this cache obeys.
///
/// If a directive occurs twice, the stricter value is used. A malformed lifetime counts as zero,
/// because a zero makes the response stale (RFC 9111 §4.2.1).
struct CacheControl {
    var isPublic = false
    // The response is for one user only. `private="…"` counts as `private` (RFC 9111 §5.2.2.7).
    var isPrivate = false
    var noStore = false
    var noCache = false
    var noCacheFields: Set<HTTPHeaders.Name> = []
    var mustRevalidate = false
    var mustUnderstand = false
    var isImmutable = false
    var onlyIfCached = false
    /// Whether `max-age`, `public` or `private` explicitly allows storing.
    var isExplicit = false
    /// The value in seconds.
    var maxAge: Int64?
    /// `s-maxage`, the time in seconds in which several users may share the response.
    var sharedMaxAge: Int64?
    var minFresh: Int64?
    // The value in seconds. ``Int64/max`` accepts any staleness.
    var maxStale: Int64?
    var staleWhileRevalidate: Int64?
    var staleIfError: Int64?

    // Reads `Cache-Control`, or `Pragma: no-cache` without `Cache-Control` (RFC 9111 §5.4).
    init(_ headers: HTTPHeaders) {
        guard headers.contains(.cacheControl) else {
            noCache = headers.values(of: .pragma).contains {
                $0.lowercased().contains("no-cache")
            }
            return
        }
        for field in headers where field.name == .cacheControl { read(field.value) }
    }

    private mutating func read(_ line: String) {
        // If a quotation has no end, the added comma is within the quotation. Directives may be
        // hidden there, and the response is not stored.
        let members = Grammar.split((line + ",")[...], at: UInt8(ascii: ","))
        if members.last?.isEmpty == false { noStore = true }
        for member in members { add(member) }
    }

    private mutating func add(_ member: Substring) {
        let utf8 = member.utf8
        let equals = utf8.firstIndex(of: UInt8(ascii: "="))
        let name = Grammar.trimmed(member[..<(equals ?? member.endIndex)]).lowercased()
        let argument = equals.map {
            Self.unquoted(Grammar.trimmed(member[utf8.index(after: $0)...]))
        }
        switch name {
        case "public", "private":
            isExplicit = true
            isPublic = isPublic || name == "public"
            isPrivate = isPrivate || name == "private"
        case "no-store": noStore = true
        case "no-cache": addNoCache(argument)
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        case "only-if-cached": onlyIfCached = true
        case "max-age":
            isExplicit = true
            lower(&maxAge, argument.flatMap(DeltaSeconds.parse) ?? 0)
        case "s-maxage": lower(&sharedMaxAge, argument.flatMap(DeltaSeconds.parse) ?? 0)
        case "min-fresh": minFresh = max(minFresh ?? 0, argument.flatMap(DeltaSeconds.parse) ?? 0)
        case "max-stale":
            lower(&maxStale, argument.map { DeltaSeconds.parse($0) ?? 0 } ?? .max)
        case "stale-while-revalidate":
            lower(&staleWhileRevalidate, argument.flatMap(DeltaSeconds.parse) ?? 0)
        case "stale-if-error": lower(&staleIfError, argument.flatMap(DeltaSeconds.parse) ?? 0)
        default: break
        }
    }

    private mutating func addNoCache(_ argument: String?) {
        let names = (argument ?? "").split(separator: ",").map { String(Grammar.trimmed($0)) }
        guard !names.isEmpty, names.allSatisfy(Grammar.isToken) else { return noCache = true }
        noCacheFields.formUnion(names.map { HTTPHeaders.Name($0) })
    }

    private func lower(_ value: inout Int64?, _ other: Int64) { value = min(value ?? other, other) }

    // The argument without quotation marks and escapes (RFC 9110 §5.6.4).
    private static func unquoted(_ argument: Substring) -> String {
        argument.utf8.last == UInt8(ascii: "\"") ? Grammar.unquoted(argument) : String(argument)
    }
}

enum DeltaSeconds {
    // The largest number of seconds that a recipient must support (RFC 9111 §1.2.2). The number
    // counts as infinite.
    static let longest: Int64 = 1 << 31

    /// Returns a number of at most ``longest``, or nil if the text is not a number.
    static func parse(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else {
            return nil
        }
        return min(Int64(text) ?? longest, longest)
    }
}
