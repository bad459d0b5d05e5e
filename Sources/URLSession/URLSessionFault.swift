// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TurnpikeCore
import TurnpikeSupport

/// Converts an error of URLSession into a ``/TurnpikeCore/ClientError``.
///
/// FoundationNetworking maps eight error codes of libcurl. FoundationNetworking reports all other
/// errors as `unknown`, with libcurl's text as the description. The code therefore uses the phase,
/// the error code and the text together.
enum URLSessionFault {
    static func classify(
        _ error: any Error, hasHead: Bool, bodyBytesSent: Int64
    ) -> ClientError {
        let code = (error as? URLError)?.code ?? .unknown
        let text = error.localizedDescription
        if !hasHead, let status = proxyStatus(in: text) {
            return ClientError(
                .connection, "the environment's proxy refused to connect: \(status)",
                underlying: error, transfer: TransferState(.connecting), proxyStatus: status)
        }
        var kind = kind(of: code, text: text, hasHead: hasHead)
        if [.connection, .dns].contains(kind.code), kind.isBeforeRequest, !areDescriptorsLeft {
            kind = noDescriptors
        }
        let phase: TransferState.Phase =
            hasHead ? .receiving : kind.isBeforeRequest ? .connecting : .sending
        return ClientError(
            kind.code, kind.message + (code == .unknown ? " (\(text))" : ""), underlying: error,
            transfer: TransferState(phase, bodyBytesSent: phase == .connecting ? 0 : bodyBytesSent))
    }

    // libcurl has this text for a rejected CONNECT.
    private static func proxyStatus(in text: String) -> HTTPStatus? {
        guard let words = text.range(of: "CONNECT tunnel failed, response ") else { return nil }
        return Int(text[words.upperBound...].prefix { $0.isNumber }).map { HTTPStatus($0) }
    }

    private struct Kind {
        let code: ClientError.Code
        let message: String
        var isBeforeRequest = false
    }

    private static func kind(of code: URLError.Code, text: String, hasHead: Bool) -> Kind {
        switch code {
        case .cannotFindHost, .dnsLookupFailed:
            return Kind(
                code: .dns, message: "the host's name could not be resolved", isBeforeRequest: true)
        case .cannotConnectToHost:
            return Kind(
                code: .connection,
                message: "the server refused the connection, or cannot be reached",
                isBeforeRequest: true)
        case .networkConnectionLost:
            return hasHead
                ? Kind(code: .incomplete, message: "the connection was lost before the body's end")
                : Kind(code: .connection, message: "the connection was lost before a response came")
        case .badServerResponse:
            return Kind(
                code: .connection, message: "the server closed the connection without a response")
        case .badURL, .unsupportedURL:
            // FoundationNetworking also reports this code for a response with an unknown HTTP
            // version.
            if has(text, "http", "response", "version") { return garbled }
            return Kind(
                code: .invalidRequest, message: "URLSession does not accept this URL",
                isBeforeRequest: true)
        case .dataLengthExceedsMaximum:
            return Kind(
                code: .unsupported, message: "URLSession cannot send a body with this method",
                isBeforeRequest: true)
        case .timedOut:
            return Kind(code: .connection, message: "URLSession got no response in time")
        case .cancelled:
            return Kind(code: .cancelled, message: "the transport was shut down")
        default: return kind(of: text, hasHead: hasHead)
        }
    }

    // The code searches for words that several texts of libcurl share.
    private static func kind(of text: String, hasHead: Bool) -> Kind {
        if has(text, "ssl", "tls", "certificate", "handshake") {
            return Kind(
                code: .tls,
                message: "the TLS handshake failed, or the certificate was refused"
                    + (has(text, "certificate") ? certificateAdvice : ""),
                isBeforeRequest: !hasHead)
        }
        if has(text, "unencoding", "content encoding", "content-encoding", "zlib", "brotli", "zstd")
        {
            return Kind(
                code: .decompression, message: "the response's content coding is broken or unknown")
        }
        if has(text, "bytes remaining", "outstanding read data", "end of response", "partial file")
        {
            return Kind(
                code: .incomplete, message: "the connection was closed before the body's end")
        }
        if has(text, "too large response headers", "out of memory") {
            return Kind(code: .tooLarge, message: "the response's header section is too large")
        }
        if has(
            text, "chunk", "header", "http/0.9", "weird server", "version", "status",
            "content-length")
        {
            return garbled
        }
        if has(text, "connect", "proxy", "resolve"), !hasHead {
            return Kind(
                code: .connection, message: "no connection could be made", isBeforeRequest: true)
        }
        if hasHead {
            return Kind(code: .incomplete, message: "the response broke off before the body's end")
        }
        if has(text, "recv", "send", "broken pipe", "reset", "empty reply", "write") {
            return Kind(
                code: .connection, message: "the connection was lost before a response came")
        }
        return Kind(code: .protocol, message: "the response could not be read")
    }

    // The reason is in the underlying error.
    private static var certificateAdvice: String {
        #if canImport(FoundationNetworking)
        "; check the certificate's name and dates, and whether the system trusts its authority"
            + " (update-ca-certificates), or use CurlTransport with trust.authorities"
        #else
        "; check the certificate's name and dates, and whether the system trusts its authority"
        #endif
    }

    private static var areDescriptorsLeft: Bool {
        let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno != EMFILE && errno != ENFILE }
        close(descriptor)
        return true
    }

    private static var noDescriptors: Kind {
        Kind(
            code: .connection,
            message: "the process has no descriptors left for a connection; raise its limit"
                + " (ulimit -n), or set maxConnectionsPerHost below this limit",
            isBeforeRequest: true)
    }

    private static var garbled: Kind {
        Kind(code: .protocol, message: "the response is not valid HTTP")
    }

    private static func has(_ text: String, _ words: String...) -> Bool {
        let text = text.lowercased()
        return words.contains { text.contains($0) }
    }
}

extension URLError.Code {
    /// The codes that report a temporary state of the network.
    ///
    /// ``URLSessionTransport`` converts the errors of URLSession. For another transport or a gate
    /// that throws errors of URLSession unchanged, a policy decides:
    ///
    /// ```swift
    /// let policy = RetryPolicy.standard.deciding { outcome in
    ///     (outcome.error as? URLError).map { URLError.Code.passing.contains($0.code) }
    /// }
    /// ```
    public static let passing: Set<URLError.Code> = [
        .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected,
        .badServerResponse, .callIsActive, .cannotConnectToHost, .cannotFindHost,
        .cannotLoadFromNetwork, .dataNotAllowed, .dnsLookupFailed,
        .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete,
        .internationalRoamingOff, .networkConnectionLost, .notConnectedToInternet,
        .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateNotYetValid,
        .timedOut,
    ]
}
