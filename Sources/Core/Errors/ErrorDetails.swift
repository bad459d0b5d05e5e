// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// The state of an exchange at a failure, which decides whether a second send is safe.
public struct TransferState: Hashable, Sendable {
    /// A phase of an exchange.
    public enum Phase: String, Hashable, Sendable, Comparable {
        /// No byte of the request was written, or the server has not processed the request.
        ///
        /// The exchange was in name resolution, connection or TLS. The phase is also `connecting`
        /// if the server states that the request was not processed, as in HTTP/2 (RFC 9113 §8.7).
        case connecting
        /// Bytes of the request may have been written, but no byte of a response has arrived.
        case sending
        /// The response head has arrived.
        case receiving

        /// Orders phases by time.
        public static func < (left: Self, right: Self) -> Bool { left.order < right.order }

        private var order: Int {
            switch self {
            case .connecting: 0
            case .sending: 1
            case .receiving: 2
            }
        }
    }

    /// The phase at the failure.
    public let phase: Phase
    /// The number of bytes of the request content that the connection got.
    public let bodyBytesSent: Int64
    /// Whether a kept-alive connection ended before the first byte of a response.
    ///
    /// In most cases, the server has closed the idle connection just before the request. In other
    /// cases, the server may have read and performed the request. A transport therefore never
    /// repeats a request after a lost connection. If the request is repeatable
    /// (``Request/isRepeatable``), the client sends the request again. A retry gate counts this
    /// send as an attempt. Without a retry gate, the client sends the request once more.
    public let lostReusedConnection: Bool

    /// Creates a state.
    public init(_ phase: Phase, bodyBytesSent: Int64 = 0, lostReusedConnection: Bool = false) {
        self.phase = phase
        self.bodyBytesSent = bodyBytesSent
        self.lostReusedConnection = lostReusedConnection
    }

    /// Whether the server cannot have processed any part of the request.
    public var isUnsent: Bool { phase == .connecting && bodyBytesSent == 0 }
}

/// The result of one attempt of a call that was retried.
public struct AttemptSummary: Hashable, Sendable {
    /// The number of the attempt within the call, starting at 1.
    public let number: Int
    /// The status of the response, or nil without a response.
    public let status: HTTPStatus?
    /// The kind of failure as a metrics label, or nil if the attempt returned a response.
    public let errorType: String?
    /// The time from the start of the attempt to the response head or the failure.
    public let elapsed: Duration
    /// The wait before the attempt, or nil for the first attempt.
    public let delay: Duration?
}

extension AttemptSummary: CustomStringConvertible {
    /// The result and the time, for example `503 in 200 ms`.
    public var description: String {
        let outcome = status.map { String($0.code) } ?? errorType ?? "given up"
        return "\(outcome) in \(elapsed.text)"
    }
}

/// A machine-readable description of a failure by the server (`application/problem+json`).
///
/// RFC 9457 defines this format. All members come from the server and may contain text of its
/// users. `error.description` shows ``title`` and ``detail`` without secrets.
public struct ProblemDetails: Sendable, Hashable {
    /// A URI reference that identifies the kind of problem; the default is `about:blank`.
    public let type: String
    /// The status in the problem details; use the status of the response instead.
    public let status: Int?
    /// A short text about the kind of problem.
    public let title: String?
    /// A text about this occurrence of the problem.
    public let detail: String?
    /// A URI reference that identifies this occurrence.
    public let instance: String?
    /// All members of the object, including the extensions of the server.
    public let members: JSONObject

    /// Creates problem details from a JSON object, and ignores members of a wrong type (§3.1).
    public init(_ members: JSONObject) {
        self.members = members
        type = members["type"]?.string ?? "about:blank"
        status = members["status"]?.int
        title = members["title"]?.string
        detail = members["detail"]?.string
        instance = members["instance"]?.string
    }

    /// The title and the detail unchanged, or the type if both are missing.
    var text: String {
        let texts = [title, detail].compactMap(\.self).filter { !$0.isEmpty }
        return texts.isEmpty ? type : texts.joined(separator: ": ")
    }
}

extension ClientError {
    /// The server's description of the failure, if the error has a complete RFC 9457 document.
    public var problem: ProblemDetails? {
        guard let type = response?.headers[.contentType].flatMap({ MediaType(parsing: $0) }),
            type.essence == "application/problem+json", !isResponseBodyCut,
            let members = (try? JSONValue(parsing: responseBody))?.object
        else { return nil }
        return ProblemDetails(members)
    }
}
