// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// A failure that libcurl reports, and the `underlying` error of a ``/TurnpikeCore/ClientError``.
public struct CurlFailure: Error, Sendable, CustomStringConvertible {
    /// The `CURLcode` of libcurl.
    public let code: Int
    /// The text of libcurl.
    public let text: String

    /// The text and the code.
    public var description: String { "\(text) (libcurl \(code))" }
}

enum CurlFault {
    static let http2: Int32 = 16
    static let http2Stream: Int32 = 92
    static let http3: Int32 = 95
    static let tlsConnectError: Int32 = 35
    /// The code of libcurl for content that ends early.
    static let partialFile: Int32 = 18
    /// The code of libcurl for a transfer that a callback has ended.
    static let aborted: Int32 = 42
    /// The code of libcurl for content that cannot be sent again.
    static let rewindError: Int32 = 65

    struct Circumstances {
        var phase: TransferState.Phase
        var sends = 1
        var isHeadTooLarge = false, isHTTP2 = false, hasGoAway = false, hasLength = false
        var hadPlace = true, isSecure = false
    }

    struct Kind {
        let code: ClientError.Code
        let message: String

        init(_ code: ClientError.Code, _ message: String) {
            self.code = code
            self.message = message
        }
    }

    static func of(
        _ code: Int32, text: String, handle: CurlHandle, _ transfer: CurlTransfer
    ) -> ClientError {
        let state = transfer.state(handle)
        let underlying = CurlFailure(code: Int(code), text: AuthorityFile.withoutPath(text))
        if handle.lacksDescriptors { return noDescriptors(underlying) }
        if handle.lacksAllowedAddress { return forbidden(state) }
        if state.phase == .connecting, let status = handle.proxyStatus {
            return refused(status, underlying)
        }
        if handle.needsHTTP1 { return needsHTTP1(underlying, state) }
        let kind = kind(
            of: handle.isLost || handle.isRefused ? aborted : code, text: text,
            Circumstances(
                phase: state.phase, sends: handle.sends, isHeadTooLarge: handle.isHeadTooLarge,
                isHTTP2: handle.isHTTP2, hasGoAway: handle.hasGoAway, hasLength: handle.hasLength,
                hadPlace: handle.hadPlace, isSecure: transfer.request.isSecure))
        var message = kind.message + place(transfer.request.route?.target)
        if kind.code == .tls, let fault = transfer.trust?.fault { message += "; " + fault }
        return ClientError(kind.code, message, underlying: underlying, transfer: state)
    }

    /// The error for content without a length whose connection was cut.
    static var wasCut: ClientError {
        ClientError(
            .incomplete, "the TLS connection was cut before the server said that the body ended",
            transfer: TransferState(.receiving))
    }

    /// The error for a response that ends within the head.
    static func wasCutInHead(_ state: TransferState) -> ClientError {
        ClientError(
            .connection, "the server closed the connection within the head of its answer",
            transfer: state)
    }

    /// The error of a request whose address rule refused all addresses.
    private static func forbidden(_ state: TransferState) -> ClientError {
        ClientError(
            .urlPolicy,
            "the address rule of the request forbids the address of its host, or the address of the"
                + " connection",
            transfer: state)
    }

    private static func place(_ target: ConnectTarget?) -> String {
        target.map { " (at \($0))" } ?? ""
    }

    private static func noDescriptors(_ underlying: CurlFailure) -> ClientError {
        ClientError(
            .connection,
            "the process has no descriptors left for a connection; raise its limit (ulimit -n), or"
                + " set maxConnections below this limit",
            underlying: underlying, transfer: TransferState(.connecting))
    }

    // The error of a request that needs HTTP/1.1, but whose content cannot be read again.
    private static func needsHTTP1(_ underlying: CurlFailure, _ state: TransferState) -> ClientError
    {
        ClientError(
            .protocol,
            "the server requires HTTP/1.1 for this request, whose body cannot be sent again; use a"
                + " replayable body, or set http2 to \"off\"",
            underlying: underlying, transfer: state)
    }

    private static func refused(_ status: HTTPStatus, _ underlying: CurlFailure) -> ClientError {
        let advice =
            switch status {
            case 407: "; give the transport's proxy a user and a password that the proxy accepts"
            case 403: "; the proxy does not allow this host or port"
            default: ""
            }
        return ClientError(
            .connection, "the proxy refused to connect: \(status)" + advice, underlying: underlying,
            transfer: TransferState(.connecting), proxyStatus: status)
    }

    static func noConnection(to target: ConnectTarget?, hadPlace: Bool) -> ClientError {
        ClientError(
            .connectTimeout, noConnection(hadPlace) + place(target),
            transfer: TransferState(.connecting))
    }

    // libcurl's own time limit includes the wait for a place among the connections.
    private static func noConnection(_ hadPlace: Bool) -> String {
        hadPlace
            ? "no connection was made in time"
            : "no place among the connections became free in time; raise maxConnectionsPerHost,"
                + " or connectTimeout"
    }

    /// The error for a response that refuses `Expect: 100-continue` with content (417).
    static var wasSkipped: ClientError {
        ClientError(
            .incomplete, "libcurl drops the content of a 417; send the request without Expect",
            transfer: TransferState(.receiving))
    }

    static func kind(
        of code: Int32, text: String, _ circumstances: Circumstances
    ) -> Kind {
        let hasHead = circumstances.phase == .receiving
        // libcurl also reports this error for a stream that the server's GOAWAY ended.
        if circumstances.hasGoAway, has(text, "callback function failed") {
            return leftBehind(hasHead)
        }
        if has(text, "request too large") {
            return Kind(.invalidRequest, "the request's header section is too large")
        }
        // The texts in the second line of the condition are faults of a whole HTTP/2 connection.
        if circumstances.isHeadTooLarge || has(text, "too large response headers")
            || has(text, "callback function failed", "too many continuation")
        {
            let section = hasHead ? "trailer" : "header"
            return Kind(.tooLarge, "the response's \(section) section is too large")
        }
        // With TLS 1.3, the client may send before the server has checked the client's certificate.
        if !hasHead, has(text, "ssl", "tls"), has(text, "alert") {
            return Kind(
                .tls,
                has(text, "certificate", "unknown ca", "access denied", "decrypt error")
                    ? "the server refused the client's certificate, or requires one"
                    : "the server ended TLS with an alert")
        }
        // libcurl reports these errors for a line above libcurl's limit.
        if hasHead, code == 27 || code == 100 || has(text, "out of memory in chunk") {
            return Kind(.tooLarge, "a line of the response's trailer is too long")
        }
        if code == tlsConnectError { return handshake(text) }
        let isInvalid = circumstances.phase != .connecting && breaksRules(text)
        switch code {
        case 5, 6:
            let whose = code == 5 ? "proxy" : "host"
            return Kind(.dns, "the \(whose)'s name could not be resolved")
        case 7:
            return Kind(.connection, "the server refused the connection, or cannot be reached")
        case 28:
            return Kind(.connectTimeout, noConnection(circumstances.hadPlace))
        case 60: return Kind(.tls, refusedCertificate(text))
        case 53, 54, 58, 59, 64, 66, 77, 80, 82, 83, 90, 91, 98:
            return Kind(.tls, tlsMessage(code))
        case 45, 97:
            let what = code == 97 ? "the proxy failed" : "the source interface cannot be used"
            return Kind(.connection, what)
        case 3:
            return Kind(.invalidRequest, "libcurl does not accept this URL")
        // For an unusable certificate or key, libcurl 8.18 reports 43, and 8.14 reports 58.
        case 43 where circumstances.phase == .connecting:
            return Kind(.tls, tlsMessage(58))
        case 1 where circumstances.phase == .connecting:
            return Kind(.unsupported, "libcurl does not support this scheme")
        case aborted where circumstances.sends > 0 && !hasHead, rewindError where !hasHead:
            if circumstances.phase == .connecting {
                return Kind(
                    .connection, "the server did not process the request in any attempt")
            }
            return Kind(
                .connection,
                "the kept-alive connection ended before an answer; only a request that is"
                    + " idempotent, retryable() or has an Idempotency-Key is sent again")
        case 1 where has(text, "http/0.9"):
            return Kind(
                .protocol,
                garbled.message
                    + (circumstances.isSecure ? "" : "; perhaps the server expects https"))
        // With code 43, the first field line begins with a blank, like the continuation of a line.
        case 1, 8, 43: return garbled
        case partialFile where hasHead:
            return Kind(.incomplete, "the connection was closed before the body's end")
        case 27 where circumstances.sends > 0:
            return Kind(.tooLarge, "a line of the response's header is too long")
        // libcurl 8.14 reports this code for a long line, and for more than 5000 lines.
        case 100 where circumstances.sends > 0:
            return Kind(.tooLarge, "the response's header section is too large")
        case 61 where has(text, "transfer-encoding"): return coded
        case 61:
            return Kind(.decompression, "the response's content coding is broken or unknown")
        case http2 where !hasHead: return leftBehind(hasHead)
        // With HTTP/2, this code means that libcurl itself closed the connection. If the peer
        // closes the connection, libcurl reports other codes.
        case 52 where circumstances.isHTTP2: return garbledFrames
        case 52, partialFile:
            return Kind(.connection, "the server closed the connection without an answer")
        case http2Stream where isInvalid, 55 where isInvalid, 56 where isInvalid:
            guard hasHead, circumstances.hasLength else { return garbled }
            // The code does not show the violated rule; perhaps only the length is wrong.
            return Kind(.incomplete, "the body does not have the length that the head states")
        case http3 where !hasHead:
            return Kind(.connection, "the request's HTTP/3 stream ended before a response came")
        default: return kind(of: text, circumstances.phase)
        }
    }

    // The codes of RFC 9113 §7 for a stream that ended because the peer violated HTTP. Client or
    // server may have reported the code. The last text means that libcurl has closed an HTTP/3
    // connection, which also happens only after a violation.
    private static func breaksRules(_ text: String) -> Bool {
        has(
            text, "protocol_error", "flow_control_error", "frame_size_error", "compression_error",
            "err_closing")
    }

    private static func kind(of text: String, _ phase: TransferState.Phase) -> Kind {
        if has(text, "chunk", "hexadecimal", "malformed", "nul byte", "weird") { return garbled }
        if has(text, "nghttp2_session_mem_recv") { return garbledFrames }
        switch phase {
        case .receiving: return lostInBody
        case .sending:
            return Kind(.connection, "the connection was lost before a response came")
        case .connecting:
            let what = has(text, "connect tunnel", "proxy") ? "the proxy refused" : "it failed"
            return Kind(.connection, "the connection could not be opened: \(what)")
        }
    }

    private static func leftBehind(_ hasHead: Bool) -> Kind {
        hasHead
            ? lostInBody
            : Kind(.connection, "the server ended the HTTP/2 connection without an answer")
    }

    private static var lostInBody: Kind {
        Kind(.incomplete, "the connection was lost before the body's end")
    }

    // libcurl 8.14 refuses the field before `CurlHead` does.
    private static var coded: Kind {
        Kind(.decompression, "the response has a transfer coding that was not asked for")
    }

    private static var garbled: Kind {
        Kind(.protocol, "the server's answer is not valid HTTP")
    }

    private static var garbledFrames: Kind {
        Kind(.protocol, "the server's answer is not valid HTTP/2, or has too many header bytes")
    }

    static func has(_ text: String, _ words: String...) -> Bool {
        let text = text.lowercased()
        return words.contains { text.contains($0) }
    }
}

extension CurlFault {
    /// Returns the kind of a failed handshake, from the texts of OpenSSL and GnuTLS.
    static func handshake(_ text: String) -> Kind {
        // The server's bytes are not a TLS record.
        if has(text, "wrong version number", "packet length too long", "unexpected tls packet") {
            return Kind(
                .tls, "the server's answer is not TLS; perhaps the server expects http, not https")
        }
        // A server that restarts, or whose queue is full, closes connections without reading. Such
        // a close is not a TLS failure, and the next attempt may succeed.
        let isCut = has(
            text, "connection reset", "broken pipe", "ssl_error_syscall", "unexpected eof",
            "non-properly terminated", "in the pull function", "in the push function")
        return isCut
            ? Kind(.connection, "the server ended the connection within the TLS handshake")
            : Kind(.tls, tlsMessage(tlsConnectError))
    }

    /// Returns the reason for a refused server certificate in a text of OpenSSL or GnuTLS, with a
    /// remedy.
    static func refusedCertificate(_ text: String) -> String {
        let reason =
            if has(text, "subject name", "not match", "hostname mismatch") {
                "the certificate is for another name than the URL's host"
            } else if has(text, "expired") {
                "the certificate has expired, or this machine's clock is wrong"
            } else if has(text, "not yet valid") {
                "the certificate is not valid yet, or this machine's clock is wrong"
            } else if has(text, "revoked") {
                "the certificate is revoked"
            } else {
                "if an authority of your own signed it, name this authority in the transport's"
                    + " trust.authorities; if a public authority signed it, check whether this"
                    + " machine has the public authorities (ca-certificates)"
            }
        return "the server's certificate was refused; " + reason
    }

    static func tlsMessage(_ code: Int32) -> String {
        switch code {
        case 90: "the server's public key is not one of the pinned keys"
        case 58, 98: "the client's certificate could not be used, or was refused"
        case 77: "the certificate authorities could not be read"
        default: "the TLS handshake failed"
        }
    }
}
