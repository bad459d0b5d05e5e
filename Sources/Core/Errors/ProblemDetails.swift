// SPDX-License-Identifier: Apache-2.0

/// What a server says of a failure in a machine-readable form (RFC 9457, `application/problem+json`).
///
/// All members are what the server sent, and may hold what its users wrote: `error.description` shows
/// ``title`` and ``detail`` without secrets.
public struct ProblemDetails: Sendable, Hashable {
    /// A URI reference that identifies the kind of problem; `about:blank` if the server names none.
    public let type: String
    /// The status, if the server repeats it; that of the response counts.
    public let status: Int?
    /// A short text about the kind of problem.
    public let title: String?
    /// A text about this occurrence of the problem.
    public let detail: String?
    /// A URI reference that identifies this occurrence.
    public let instance: String?
    /// All members of the object, including the extensions of the server.
    public let members: JSONObject

    /// Creates problem details of the members of a JSON object.
    ///
    /// A member of another type than RFC 9457 gives it is ignored (§3.1).
    public init(_ members: JSONObject) {
        self.members = members
        type = members["type"]?.string ?? "about:blank"
        status = members["status"]?.int
        title = members["title"]?.string
        detail = members["detail"]?.string
        instance = members["instance"]?.string
    }
}

extension ProblemDetails: DescriptionReflectable {
    /// Title and detail without secrets.
    public var description: String { Redaction.standard.text(text) }

    /// Title and detail as they came, or the type if there is neither.
    var text: String {
        let texts = [title, detail].compactMap(\.self).filter { !$0.isEmpty }
        return texts.isEmpty ? type : texts.joined(separator: ": ")
    }
}

extension ClientError {
    /// What the server says of the failure, if the content that was kept is all of a document of the type
    /// `application/problem+json` (RFC 9457); otherwise nil.
    public var problem: ProblemDetails? {
        guard let type = response?.headers[.contentType].flatMap({ MediaType(parsing: $0) }),
            type.essence == "application/problem+json", !isResponseBodyCut,
            let members = (try? JSONValue(parsing: responseBody))?.object
        else { return nil }
        return ProblemDetails(members)
    }
}
