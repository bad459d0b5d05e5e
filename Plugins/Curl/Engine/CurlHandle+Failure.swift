// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import Foundation
import TurnpikeCore

/// Why a transfer ended, and whether its response is complete nevertheless.
extension CurlHandle {
    /// The status with which a proxy refused to connect, or for a SOCKS proxy the equivalent status.
    var proxyStatus: HTTPStatus? {
        let status = unsafe tpc_transfer_connect_status(pointer)
        if status > 0 { return (200..<300).contains(status) ? nil : HTTPStatus(status) }
        return switch unsafe tpc_transfer_proxy_error(pointer) {
        case TPC_SOCKS_NO_METHOD, TPC_SOCKS_USER_REJECTED: 407
        case TPC_SOCKS_NOT_ALLOWED: 403
        case TPC_SOCKS_NO_ADDRESS_TYPE, TPC_SOCKS_NO_COMMAND: 501
        case TPC_SOCKS_EXPIRED: 504
        case TPC_SOCKS_REFUSED, TPC_SOCKS_FAILED, TPC_SOCKS_NO_HOST, TPC_SOCKS_NO_NETWORK: 502
        default: nil
        }
    }

    /// Whether the request was sent by HTTP/2.
    var isHTTP2: Bool { unsafe pointer.pointee.is_http2 }
    /// Whether the server has said that it ends the connection of HTTP/2 (RFC 9113 §6.8).
    var hasGoAway: Bool { unsafe tpc_transfer_has_goaway(pointer) }
    /// Whether the transfer has failed and the server has certainly not acted on what was sent last.
    var isRefused: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_REFUSED }
    /// Whether the server wants the request by HTTP/1.1.
    var needsHTTP1: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_NEEDS_HTTP1 }
    /// Whether the response came with all of its content, even if the request failed.
    ///
    /// Over HTTP/2, a server may answer early and then end the stream (RFC 9113 §8.1). After a
    /// complete error response libcurl ends the stream itself, and may report its own reset as the
    /// server's.
    func isWhole(_ result: Int32) -> Bool {
        if isWhole { return true }
        return result == CurlFault.http2Stream && isRefusal
            && faultText(result).contains("STREAM_CLOSED")
    }

    /// Whether a response of known length is complete.
    private var isWhole: Bool {
        guard hasHead, !isHeadTooLarge else { return false }
        let status = unsafe pointer.pointee.status
        if status == 204 || status == 304 { return true }
        let length = length
        return unsafe length >= 0 && pointer.pointee.received >= length
    }

    /// Whether the status is a redirection or an error, which does not use the request's content.
    private var isRefusal: Bool { unsafe hasHead && pointer.pointee.status >= 300 }

    /// Whether a redirection or an error of known length is complete, over HTTP/2.
    ///
    /// libcurl then reads nothing more for the transfer, not even the window that the rest of the
    /// request waits for.
    var isUnwanted: Bool { isHTTP2 && isRefusal && isWhole }

    private var length: Int64 { unsafe tpc_transfer_length(pointer) }
    /// Whether the head declares the length of the content.
    var hasLength: Bool { length >= 0 }

    /// Whether the request was written to a connection that had served before, and which ended before
    /// a byte of a response.
    var isLost: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_LOST }

    /// Whether the server supports none of the offered versions of HTTP (RFC 7301 §3.2).
    var wasOfferedNoVersion: Bool {
        guard result == CurlFault.tlsConnectError else { return false }
        let text = faultText(CurlFault.tlsConnectError)
        // OpenSSL 1.1 uses the second text.
        return text.contains("application protocol") || text.contains("reason(1120)")
    }

    /// Returns libcurl's text for a failure.
    func faultText(_ code: Int32) -> String {
        let text = unsafe withUnsafeBytes(of: &pointer.pointee.error) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return text.isEmpty ? CurlLibrary.text(of: code) : text
    }
}
