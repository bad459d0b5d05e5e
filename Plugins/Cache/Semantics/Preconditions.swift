// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Evaluates a caller's conditions with a stored response (RFC 9110 §13, RFC 9111 §4.3.2).
enum Preconditions {
    /// Whether the caller already has the stored response, or nil if the request has no condition.
    static func isUnchanged(
        _ head: ResponseHead, for request: Request, at now: Date
    ) -> Bool? {
        guard head.status == .ok else { return nil }
        if let tags = request.headers[.ifNoneMatch] {
            guard let tag = head.headers.first(.eTag) else { return false }
            return Grammar.split(tags[...], at: UInt8(ascii: ",")).contains { member in
                let member = Grammar.trimmed(member)
                return member == "*" || isSame(String(member), tag, strongly: false)
            }
        }
        guard let text = request.headers[.ifModifiedSince],
            let since = HTTPDate.parse(text, now: now)
        else { return nil }
        guard let line = head.headers.first(.lastModified) ?? head.headers.first(.date),
            let changed = HTTPDate.parse(line, now: now)
        else { return false }
        return changed <= since
    }

    // Whether a range may be sent. If the request has an `If-Range`, the value must be the strong
    // validator of this response (RFC 9110 §13.1.5).
    static func allowsRange(
        _ head: ResponseHead, for request: Request, at now: Date
    ) -> Bool {
        guard let condition = request.headers[.ifRange] else { return true }
        if condition.utf8.contains(UInt8(ascii: "\"")) {
            return head.headers.first(.eTag).map { isSame(condition, $0, strongly: true) } ?? false
        }
        // A date is strong if the last change was at least a second earlier (RFC 9110 §8.8.2.2).
        guard let line = head.headers.first(.lastModified),
            Grammar.areSame(line, condition),
            let changed = HTTPDate.parse(line, now: now),
            let date = head.headers.first(.date).flatMap({ HTTPDate.parse($0, now: now) })
        else { return false }
        return date.timeIntervalSince(changed) >= 1
    }

    static func isSame(_ left: String, _ right: String, strongly: Bool) -> Bool {
        if strongly { return Grammar.areSame(left, right) && !isWeak(left) }
        return opaque(left).elementsEqual(opaque(right))
    }

    private static func isWeak(_ tag: String) -> Bool { tag.utf8.starts(with: "W/".utf8) }

    private static func opaque(_ tag: String) -> Substring.UTF8View {
        isWeak(tag) ? tag.utf8.dropFirst(2) : tag.utf8[...]
    }
}

/// A `Range` in bytes (RFC 9110 §14.1.2) for content of a known length.
enum ByteRange {
    enum Result: Equatable {
        case one(Range<Int64>)
        /// The range contains no byte of the content.
        case none
        case several
        /// The `Range` field is malformed, and is ignored.
        case malformed
    }

    static func parse(_ text: String, length: Int64) -> Result {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, Grammar.equalsIgnoringCase(String(parts[0]), "bytes") else {
            return .malformed
        }
        let members = parts[1].split(separator: ",").map { Grammar.trimmed($0) }.filter {
            !$0.isEmpty
        }
        guard members.count == 1 else { return members.isEmpty ? .malformed : .several }
        let bounds = members[0].split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else { return .malformed }
        if bounds[0].isEmpty {
            guard let suffix = number(bounds[1]) else { return .malformed }
            return suffix == 0 || length == 0 ? .none : .one(max(0, length - suffix)..<length)
        }
        guard let first = number(bounds[0]) else { return .malformed }
        if bounds[1].isEmpty { return first < length ? .one(first..<length) : .none }
        guard let last = number(bounds[1]), first <= last else { return .malformed }
        return first < length ? .one(first..<(min(last, length - 1) + 1)) : .none
    }

    // A number of more than 64 bits is larger than any content.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else {
            return nil
        }
        return Int64(text) ?? .max
    }
}
