// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOHTTPCompression
import NIOPosix
import NIOSSL
import TurnpikeEssentials

enum Fault {
    private struct Kind {
        let code: ClientError.Code
        let message: String
        // The phase that follows from the error, if it is more exact than the delegate's reports.
        var phase: TransferState.Phase?
        var proxyStatus: HTTPStatus?
    }

    /// Returns the error for the caller, or the unchanged error of the request's content.
    static func of(_ error: any Error, _ transfer: TransferState) -> any Error {
        // These errors come from the request's content.
        if error is ClientError || error is CancellationError { return error }
        let kind = kind(of: error, transfer.phase)
        let phase = kind.phase ?? transfer.phase
        return ClientError(
            kind.code, kind.message,
            // The underlying error may contain the refused value, which may be a secret.
            underlying: kind.code == .invalidRequest ? nil : error,
            transfer: TransferState(
                phase, bodyBytesSent: phase == .connecting ? 0 : transfer.bodyBytesSent),
            proxyStatus: kind.proxyStatus)
    }

    private static func kind(of error: any Error, _ phase: TransferState.Phase) -> Kind {
        switch error {
        case let error as HTTPClientError: return client(error, phase)
        case let error as NIOConnectionError: return connection(error)
        case let error as HTTPParserError: return parser(error, phase)
        case let error as NIOHTTP2Errors.StreamError: return kind(of: error.baseError, phase)
        case let error as NIOHTTP2Errors.StreamClosed: return stream(error.errorCode, phase)
        case is NIOHTTP2Errors.NoStreamIDAvailable, is NIOHTTP2Errors.CreatedStreamAfterGoaway:
            return lost(.connecting)
        case is any NIOHTTP2Error: return http2(error, phase)
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: return tls(error, phase)
        case let error as NIOHTTPDecompression.DecompressionError:
            return error == .limit
                ? Kind(
                    code: .tooLarge,
                    message: "the decoded content is larger than the HTTPClient's limit")
                : undecodable
        case is NIOHTTPDecompression.ExtraDecompressionError: return undecodable
        case ChannelError.connectTimeout: return late
        case let error as IOError where error.errnoCode == EMFILE || error.errnoCode == ENFILE:
            return Kind(
                code: .connection,
                message: "the process has no descriptors left for a connection; raise its limit"
                    + " (ulimit -n)",
                phase: .connecting)
        default: return lost(phase)
        }
    }

    private static func client(
        _ error: HTTPClientError, _ phase: TransferState.Phase
    ) -> Kind {
        // `.cancelled` alone would be a pattern of `ClientError.Code` for any error.
        switch error {
        case HTTPClientError.alreadyShutdown:
            return Kind(
                code: .cancelled, message: "the HTTPClient was shut down", phase: .connecting)
        case HTTPClientError.cancelled:
            return Kind(code: .cancelled, message: "the HTTPClient was shut down")
        case HTTPClientError.connectTimeout, HTTPClientError.getConnectionFromPoolTimeout,
            HTTPClientError.tlsHandshakeTimeout,
            HTTPClientError.socksHandshakeTimeout, HTTPClientError.httpProxyHandshakeTimeout:
            return late
        case HTTPClientError.deadlineExceeded where phase == .connecting: return late
        case HTTPClientError.readTimeout:
            return Kind(
                code: .idleTimeout,
                message: "nothing was received for longer than the HTTPClient's read timeout")
        case HTTPClientError.writeTimeout:
            return Kind(
                code: .idleTimeout,
                message: "nothing could be sent for longer than the HTTPClient's write timeout")
        case HTTPClientError.proxyAuthenticationRequired:
            return Kind(
                code: .connection,
                message: "the proxy refused to connect; give the HTTPClient's proxy a user and a"
                    + " password that the proxy accepts",
                phase: .connecting, proxyStatus: 407)
        case HTTPClientError.invalidProxyResponse:
            return Kind(
                code: .connection, message: "the proxy refused to connect", phase: .connecting)
        case HTTPClientError.invalidURL, HTTPClientError.emptyHost, HTTPClientError.emptyScheme,
            HTTPClientError.missingSocketPath,
            HTTPClientError.traceRequestWithBody:
            return Kind(
                code: .invalidRequest, message: "async-http-client refuses the request: \(error)",
                phase: .connecting)
        case HTTPClientError.bodyLengthMismatch:
            return Kind(
                code: .upload, message: "the request body does not have its declared length")
        case HTTPClientError.redirectLimitReached, HTTPClientError.redirectCycleDetected:
            return following
        default:
            let text = "\(error)".lowercased()
            if text.contains("invalidheaderfield") || text.contains("unsupportedscheme") {
                return Kind(
                    code: .invalidRequest, message: "async-http-client refuses the request",
                    phase: .connecting)
            }
            if text.contains("applicationprotocol") {
                return Kind(
                    code: .protocol, message: "the server chose a protocol that was not offered",
                    phase: .connecting)
            }
            return lost(phase)
        }
    }

    private static func connection(_ error: NIOConnectionError) -> Kind {
        if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
            return Kind(
                code: .dns, message: "the host's name could not be resolved", phase: .connecting)
        }
        return Kind(
            code: .connection, message: "the server refused the connection, or cannot be reached",
            phase: .connecting)
    }

    private static func parser(
        _ error: HTTPParserError, _ phase: TransferState.Phase
    ) -> Kind {
        switch error {
        case .headerOverflow:
            let section = phase == .receiving ? "trailer" : "header"
            return Kind(code: .tooLarge, message: "the response's \(section) section is too large")
        case .invalidEOFState, .closedConnection: return lost(phase)
        default: return garbled
        }
    }

    // The codes are from RFC 9113 §7 and §8.7.
    private static func stream(
        _ code: HTTP2ErrorCode, _ phase: TransferState.Phase
    ) -> Kind {
        switch code {
        case .refusedStream where phase != .receiving:
            return Kind(
                code: .connection, message: "the server did not process the request",
                phase: .connecting)
        case .protocolError, .flowControlError, .frameSizeError, .compressionError: return garbled
        default: return lost(phase)
        }
    }

    private static func http2(_ error: any Error, _ phase: TransferState.Phase) -> Kind {
        switch error {
        case is NIOHTTP2Errors.ExcessivelyLargeHeaderBlock,
            is NIOHTTP2Errors.ExcessiveContinuationFrames:
            return Kind(code: .tooLarge, message: "the response's header section is too large")
        case is NIOHTTP2Errors.ContentLengthViolated:
            return Kind(
                code: .incomplete, message: "the body has another length than the head states")
        case is NIOHTTP2Errors.IOOnClosedConnection, is NIOHTTP2Errors.NoSuchStream:
            return lost(phase)
        default: return garbled
        }
    }

    private static func tls(_ error: any Error, _ phase: TransferState.Phase) -> Kind {
        if case NIOSSLError.uncleanShutdown = error { return lost(phase) }
        switch phase {
        case .connecting:
            return Kind(
                code: .tls,
                message:
                    "the TLS handshake failed, or the certificate was refused; check the name"
                    + " and dates of the certificate, and whether trustRoots has its authority"
            )
        // In TLS 1.3, the client may send before the server has checked the client's certificate.
        case .sending: return Kind(code: .tls, message: "the server ended TLS with an alert")
        case .receiving: return lost(phase)
        }
    }

    private static func lost(_ phase: TransferState.Phase) -> Kind {
        switch phase {
        case .connecting:
            Kind(
                code: .connection, message: "the connection could not be opened", phase: .connecting
            )
        case .sending:
            Kind(code: .connection, message: "the connection was lost before a response came")
        case .receiving:
            Kind(code: .incomplete, message: "the connection was lost before the body's end")
        }
    }

    private static var late: Kind {
        Kind(
            code: .connectTimeout, message: "the HTTPClient got no connection in time",
            phase: .connecting)
    }

    private static var garbled: Kind {
        Kind(code: .protocol, message: "the server's answer is not valid HTTP")
    }

    private static var undecodable: Kind {
        Kind(code: .decompression, message: "the response's content coding is broken or unknown")
    }

    private static var following: Kind {
        Kind(code: .configuration, message: followsRedirects)
    }

    private static let followsRedirects =
        "the HTTPClient follows redirects, but the transport has the trait .returnsRedirects;"
        + " set its redirectConfiguration to .disallow, or remove the trait"
}

extension Fault {
    static var followedRedirect: ClientError {
        ClientError(.configuration, followsRedirects, transfer: TransferState(.receiving))
    }

    static var unreadRedirect: ClientError {
        ClientError(
            .unsupported,
            "the content of a redirect cannot be read, because the HTTPClient would follow it; set"
                + " its redirectConfiguration to .disallow, and pass .returnsRedirects to the"
                + " transport",
            transfer: TransferState(.receiving))
    }

    static func wasShutDown(_ phase: TransferState.Phase) -> ClientError {
        ClientError(
            .cancelled, "the transport was shut down; make a new client",
            transfer: TransferState(phase))
    }
}
