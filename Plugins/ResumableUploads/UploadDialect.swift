// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

extension ResumableUploadOptions.Dialect {
    var partType: String {
        self == .tus ? "application/offset+octet-stream" : "application/partial-upload"
    }

    /// Whether a response says that the upload is over.
    ///
    /// In the draft, the resource that gets the content sends this response, with any status. In
    /// tus, an upload is over when the server has all bytes.
    func isOver(_ head: ResponseHead, length: Int64) -> Bool {
        if self == .tus {
            return head.status.isSuccessful && head.size("Upload-Offset") == length
        }
        return head.headers["Upload-Complete"]?.wholeMatch(of: /\?1 *(;.*)?/) != nil
    }
}

extension ResponseHead {
    /// The number of bytes in a field; nil if the field is missing or not valid.
    func size(_ name: HTTPHeaders.Name) -> Int64? {
        headers[name].flatMap { UploadLimits.integer($0[...]) }
    }
}

/// The limits of a server (`Upload-Limit` of the draft).
struct UploadLimits {
    private var maxSize: Int64?
    private var minSize: Int64?
    private var maxAppend: Int64?
    private(set) var minAppend: Int64?
    /// The time after which the server may remove the upload resource.
    private(set) var expires: Date?

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
            let key = Grammar.trimmed(parts.first ?? "")
            let known = ["max-size", "min-size", "max-append-size", "min-append-size", "max-age"]
            if !known.contains(String(key)) { continue }
            guard parts.count == 2, let value = integer(parts[1]) else { return nil }
            members[key] = value
        }
        return members
    }

    /// A non-negative integer of at most 15 digits (RFC 9651 §3.3.1), without its parameters.
    static func integer(_ text: Substring) -> Int64? {
        let digits = Grammar.trimmed(text.prefix { $0 != ";" })
        guard digits.utf8.count <= 15, digits.utf8.allSatisfy(Grammar.isDigit) else { return nil }
        return Int64(digits)
    }

    /// Checks the content against the limits; a server may take content below `min-size` too.
    func check(_ length: Int64, _ head: ResponseHead) throws {
        var code = ClientError.Code.unsupported
        let reason: String
        if let maxSize, length > maxSize {
            code = .tooLarge
            reason = "the content has \(length) bytes; the server accepts at most \(maxSize)"
        } else if let minSize, length < minSize, !head.status.isSuccessful {
            reason = "the server resumes no upload of less than \(minSize) bytes; send it at once"
        } else if let maxAppend, maxAppend < max(minAppend ?? 0, 1) {
            reason = "the server accepts only parts of \(minAppend ?? 1) to \(maxAppend) bytes"
        } else {
            return
        }
        throw ClientError(code, reason, response: head)
    }

    func part(wanted: Int64) -> Int64 { max(min(wanted, maxAppend ?? .max), minAppend ?? 1, 1) }
}

extension ClientError.Code {
    /// The server has lost the upload twice, or once after the server may have received all bytes.
    public static let uploadLost = Self(rawValue: "uploadLost")
}

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
    /// Whether a field of the call may go to the upload resource, because the field does not
    /// describe the content; another origin gets only the fields that a redirect keeps.
    func mayGo(toOwnOrigin isOwn: Bool) -> Bool {
        let name = lowercased
        if !isOwn {
            return name == "accept" || name.hasPrefix("accept-")
                || ["user-agent", "traceparent", "tracestate"].contains(name)
        }
        return !["digest", "expect", "trailer", "range", "idempotency-key"].contains(name)
            && !["content-", "if-", "upload-", "repr-", "want-"].contains { name.hasPrefix($0) }
    }
}

extension Request {
    /// Sets the version of the protocol, and those of the draft's fields that the protocol has.
    mutating func set(_ fields: HTTPHeaders, for dialect: ResumableUploadOptions.Dialect) {
        for field in fields { headers[field.name] = field.value }
        if dialect == .tus {
            headers.remove("Upload-Complete")
            headers["Tus-Resumable"] = "1.0.0"
        } else {
            headers["Upload-Draft-Interop-Version"] = "8"
        }
    }
}
