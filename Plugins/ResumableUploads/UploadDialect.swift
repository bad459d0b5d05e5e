// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The header fields of each protocol.
extension ResumableUploadOptions.Dialect {
    /// The fields of every request; a client of a draft must send the interop version.
    var version: HTTPHeaders {
        self == .tus ? ["Tus-Resumable": "1.0.0"] : ["Upload-Draft-Interop-Version": "8"]
    }

    /// The fields of the request that creates an upload without content ("careful creation").
    func creation(of length: Int64) -> HTTPHeaders {
        var fields = version
        fields["Upload-Length"] = String(length)
        if self == .draft { fields["Upload-Complete"] = "?0" }
        return fields
    }

    /// The fields of a request that sends a part.
    func part(at offset: Int64, isLast: Bool) -> HTTPHeaders {
        var fields = version
        fields["Upload-Offset"] = String(offset)
        fields[.contentType] =
            self == .tus ? "application/offset+octet-stream" : "application/partial-upload"
        if self == .draft { fields["Upload-Complete"] = isLast ? "?1" : "?0" }
        return fields
    }

    /// Whether a response says that the upload is over.
    ///
    /// In the draft, such a response comes from the resource that gets the content, whatever its
    /// status. In tus, an upload is over when the server has all bytes.
    func isOver(_ head: ResponseHead, length: Int64) -> Bool {
        if self == .tus {
            return head.status.kind == .successful && head.size("Upload-Offset") == length
        }
        let value = head.headers["Upload-Complete"]
        return value.map { Grammar.trimmed($0.prefix { $0 != ";" }) } == "?1"
    }
}

extension ResponseHead {
    /// The value of a field that is a number of bytes; nil if it is missing or not valid.
    func size(_ name: HTTPHeaders.Name) -> Int64? {
        headers[name].flatMap { UploadLimits.integer($0[...]) }
    }
}

/// What a server accepts (`Upload-Limit` of the draft).
struct UploadLimits {
    private var maxSize: Int64?
    private var minSize: Int64?
    private var maxAppend: Int64?
    private(set) var minAppend: Int64?
    /// When the upload resource may be gone.
    private(set) var expires: Date?

    /// Adds what a response says.
    mutating func read(_ head: ResponseHead, now: Date) {
        maxSize = head.size("Tus-Max-Size") ?? maxSize
        if let text = head.headers["Upload-Expires"] { expires = HTTPDate.parse(text, now: now) }
        guard let members = Self.members(head.headers.values(of: "Upload-Limit")) else { return }
        maxSize = members["max-size"] ?? maxSize
        minSize = members["min-size"] ?? minSize
        maxAppend = members["max-append-size"] ?? maxAppend
        minAppend = members["min-append-size"] ?? minAppend
        expires = members["max-age"].map { now + Double($0) } ?? expires
    }

    /// The known members of a dictionary (RFC 9651 §3.2).
    ///
    /// Unknown members are ignored. If a known member has another type, the field counts as absent.
    private static func members(_ lines: [String]) -> [Substring: Int64]? {
        var members: [Substring: Int64] = [:]
        for member in lines.flatMap({ Grammar.split($0[...], at: UInt8(ascii: ",")) }) {
            let parts = member.split(separator: "=", maxSplits: 1)
            guard let key = parts.first.map({ Grammar.trimmed($0) }), known.contains(key) else {
                continue
            }
            guard parts.count == 2, let value = integer(parts[1]) else { return nil }
            members[key] = value
        }
        return members
    }

    private static let known: Set<Substring> = [
        "max-size", "min-size", "max-append-size", "min-append-size", "max-age",
    ]

    /// A non-negative integer of at most 15 digits (RFC 9651 §3.3.1), without its parameters.
    static func integer(_ text: Substring) -> Int64? {
        let digits = Grammar.trimmed(text.prefix { $0 != ";" })
        guard digits.utf8.count <= 15, digits.utf8.allSatisfy(Grammar.isDigit) else { return nil }
        return Int64(digits)
    }

    /// Checks whether content can be uploaded.
    ///
    /// A server that offers an upload resource although the content is below `min-size` has decided
    /// otherwise.
    func check(_ length: Int64, _ head: ResponseHead) throws {
        let isRefused = head.status.kind != .successful
        if let maxSize, length > maxSize {
            throw ClientError(
                .tooLarge, "the content has \(length) bytes; the server takes at most \(maxSize)",
                response: head)
        }
        if let minSize, isRefused, length < minSize {
            throw ClientError(
                .unsupported,
                "the server resumes uploads of at least \(minSize) bytes; send an ordinary request",
                response: head)
        }
        if let maxAppend, maxAppend < max(minAppend ?? 0, 1) {
            throw ClientError(
                .unsupported,
                "the server takes parts of at least \(minAppend ?? 1) and at most \(maxAppend) bytes",
                response: head)
        }
    }

    /// The most bytes of the next part.
    func part(wanted: Int64) -> Int64 { max(min(wanted, maxAppend ?? .max), minAppend ?? 1, 1) }
}

/// The response to an exchange, whether or not a gate has refused it.
struct UploadAnswer {
    let head: ResponseHead
    let response: Response?
    let error: ClientError?

    /// The error for a response after which the upload cannot continue.
    var failure: ClientError {
        error
            ?? ClientError(
                .validation, "the server answered the upload with \(head.status)", response: head)
    }

    /// The error for a response after which the upload may continue.
    func passing(_ reason: String) -> ClientError {
        ClientError(
            .incomplete, "\(reason) (\(head.status))", underlying: error, response: head,
            retryAfter: error?.retryAfter)
    }
}

extension HTTPHeaders.Name {
    /// Whether a field belongs only to the request that creates the upload.
    var isOfCreation: Bool {
        let name = lowercased
        return ["content-", "if-", "upload-", "repr-", "want-"].contains { name.hasPrefix($0) }
            || ["digest", "expect", "trailer", "range", "idempotency-key"].contains(name)
    }

    /// Whether a field may go to another origin.
    var mayCross: Bool {
        let name = lowercased
        return name == "accept" || name.hasPrefix("accept-")
            || ["user-agent", "traceparent", "tracestate"].contains(name)
    }
}
