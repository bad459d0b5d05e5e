// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The target of a request: a URL, or a text that is resolved against a client's base URL.
///
/// The text is an absolute http or https URL, or a relative reference (RFC 3986 §4.2). `users/1` is
/// appended to the path of the base, and `/users/1` replaces the path of the base. A reference that
/// names another host (`//host/path`), text with control characters, and a broken percent-encoding
/// are refused. Blanks and other characters that a URL must not contain are percent-encoded;
/// escapes do not change.
///
/// If the text contains a value from outside, use a template such as `"users/{id}"` with
/// ``TargetConvertible/path(_:_:)``, which encodes each value as one path segment.
///
/// A parameter that is a target also accepts text and URLs (``TargetConvertible``):
/// `client.get(CommandLine.arguments[1])`.
public struct Target: Sendable {
    fileprivate enum Kind {
        case url(URL)
        case text(String)
        case fault(String)
        case server
    }

    fileprivate var kind: Kind
    private var addedQuery = ""

    /// Creates a target from a URL.
    public init(_ url: URL) { kind = .url(url) }

    /// Creates a target from text.
    public init(_ text: String) { kind = .text(text) }

    fileprivate init(fault: String) { kind = .fault(fault) }

    /// Returns the same target with more query items at the end.
    public func appending(_ query: Query) -> Target { appending(encodedQuery: query.encoded) }

    /// Returns the same target with an encoded query at the end.
    public func appending(encodedQuery: String) -> Target {
        if encodedQuery.isEmpty { return self }
        var copy = self
        copy.addedQuery += (copy.addedQuery.isEmpty ? "" : "&") + encodedQuery
        return copy
    }

    func resolved(against base: TargetURI?) -> TargetURI {
        let uri =
            switch kind {
            case .url(let url): TargetURI(url.absoluteURL)
            case .fault(let fault): TargetURI(fault: fault)
            case .server:
                base?.withoutPath
                    ?? TargetURI(fault: "the client has no base URL that names the server; set one")
            case .text(let text): Self.resolve(text, against: base)
            }
        return addedQuery.isEmpty ? uri : uri.appending(encodedQuery: addedQuery)
    }

    private static func fault(ofText text: String) -> String? {
        if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            return "the URL has a control character; percent-encode it"
        }
        // The code compares bytes, because a slash and a following combining mark are one
        // character, and the URL parser drops some marks.
        let start = text.utf8.prefix(2)
        if ["//", "\\", "/\\"].contains(where: { start.starts(with: $0.utf8) }) {
            return "a relative URL must not name another host; write the scheme"
        }
        return hasBrokenEscape(text) ? "the URL has a % without two hexadecimal digits" : nil
    }

    private static func resolve(_ text: String, against base: TargetURI?) -> TargetURI {
        if let fault = fault(ofText: text) { return TargetURI(fault: fault) }
        if let base, text.isEmpty { return base }
        let parts = URIParts(text)
        let isAbsolute = isAbsolute(text, parts)
        // A first segment with a colon would be parsed as a scheme (RFC 3986 §4.2).
        let isAmbiguous = base != nil && !isAbsolute && parts.scheme != nil
        return TargetURI(
            reference: isAmbiguous ? "./" + text : text,
            relativeTo: isAbsolute ? nil : base?.asDirectory)
            ?? TargetURI(fault: TargetURI.fault(ofUnreadable: text))
    }

    private static func isAbsolute(_ text: String, _ parts: URIParts) -> Bool {
        guard let scheme = parts.scheme, parts.authority != nil else { return false }
        return text.bytes(scheme).allSatisfy(TargetURI.isInScheme)
    }

    private static func hasBrokenEscape(_ text: String) -> Bool {
        var wanted = 0
        for byte in text.utf8 {
            if wanted > 0 {
                guard Grammar.isHexDigit(byte) else { return true }
                wanted -= 1
            } else if byte == UInt8(ascii: "%") {
                wanted = 2
            }
        }
        return wanted > 0
    }
}

/// A value that can be a target: a ``Target``, text, or a URL.
public protocol TargetConvertible {
    /// Returns the target.
    func asTarget() -> Target
}

extension Target: TargetConvertible {
    /// Returns this target.
    public func asTarget() -> Target { self }
}

extension String: TargetConvertible {
    /// Returns the text as a target.
    public func asTarget() -> Target { Target(self) }
}

extension URL: TargetConvertible {
    /// Returns the URL as a target.
    public func asTarget() -> Target { Target(self) }
}

extension TargetConvertible where Self == Target {
    /// The server of the client's base URL without a path, for `OPTIONS *` (RFC 9110 §9.3.7).
    ///
    /// See ``Request/asksServer`` for the request that is sent.
    public static var server: Target {
        var target = Target("")
        target.kind = .server
        return target
    }

    /// Returns a path in which values replace the `{names}`, each encoded as one segment.
    ///
    /// The values `..`, `.` and the empty text are refused, because they are not valid segments.
    /// - Parameters:
    ///   - template: Text with names in braces.
    ///   - values: A value for each name.
    /// - Returns: The target.
    public static func path(_ template: String, _ values: [String: String]) -> Target {
        var result = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            guard let close = rest[open...].firstIndex(of: "}") else {
                return Target(fault: "the path template has a brace that is not closed")
            }
            let name = String(rest[rest.index(after: open)..<close])
            guard let value = values[name] else {
                return Target(
                    fault: "the path template has no value for {\(Grammar.escaped(name))}")
            }
            if value.isEmpty || value == "." || value == ".." {
                return Target(fault: "the path value {\(Grammar.escaped(name))} is empty, . or ..")
            }
            result += rest[..<open] + PercentEncoding.unreserved.encode(value)
            rest = rest[rest.index(after: close)...]
        }
        return Target(result + rest)
    }
}

extension Target: ExpressibleByStringInterpolation {
    /// Creates a target from text.
    public init(stringLiteral value: String) { self.init(value) }
}

extension Target {
    /// The original text, including secrets, or nil if the target is invalid.
    var written: String? {
        let query = addedQuery.isEmpty ? "" : "?" + addedQuery
        return switch kind {
        case .url(let url): url.absoluteString + query
        case .text(let text): text + query
        case .fault: nil
        case .server: "*"
        }
    }
}
