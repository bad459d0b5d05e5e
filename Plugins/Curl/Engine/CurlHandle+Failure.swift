import CTurnpikeCurl
import Foundation
import TurnpikeCore

/// Why a transfer ended as it did, and what of it counts all the same.
extension CurlHandle {
    /// The status with which a proxy refused to connect; of a SOCKS proxy, what means the same.
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

    /// Whether it goes by HTTP/2, once it was sent.
    var isHTTP2: Bool { unsafe pointer.pointee.is_http2 }
    /// Whether it has failed, and the server has certainly done nothing with what was sent last.
    var isRefused: Bool { unsafe pointer.pointee.cause == TPC_CAUSE_REFUSED }
    /// Whether the answer came with all of its content, whatever became of the request.
    ///
    /// Over HTTP/2 a server may answer early, and then end the stream (RFC 9113 §8.1). libcurl ends
    /// it itself where an error has come to its end, and may take its own reset for the server's.
    func isWhole(_ result: Int32) -> Bool {
        if isWhole { return true }
        return result == CurlFault.http2Stream && isRefusal
            && faultText(result).contains("STREAM_CLOSED")
    }

    /// Whether a response of known length has come whole.
    private var isWhole: Bool {
        guard hasHead, !isHeadTooLarge else { return false }
        let status = unsafe pointer.pointee.status
        if status == 204 || status == 304 { return true }
        let length = length
        return unsafe length >= 0 && pointer.pointee.received >= length
    }

    /// Whether the status is a redirection or an error, which does not use the request's content.
    private var isRefusal: Bool { unsafe hasHead && pointer.pointee.status >= 300 }

    /// Whether a redirection or an error of known length has come whole by HTTP/2.
    ///
    /// libcurl then reads nothing more for the transfer, not even the window that the rest of the
    /// request waits for.
    var isUnwanted: Bool { isHTTP2 && isRefusal && isWhole }

    private var length: Int64 { unsafe tpc_transfer_length(pointer) }
    /// Whether the head gives the length of the content.
    var hasLength: Bool { length >= 0 }

    /// Whether a connection that was kept alive ended while the request was sent: libcurl sends it
    /// again where it reads of that, and not where it writes.
    ///
    /// With HTTP/2 it does not do so either where the connection ends in good order, or where the
    /// server lets it end (GOAWAY, RFC 9113 §6.8).
    var metDeadConnection: Bool {
        guard !hasHead, connects == 0 else { return false }
        return switch result {
        case CurlFault.sendError, CurlFault.http2: true
        case CurlFault.partialFile: isHTTP2
        default: false
        }
    }

    /// Whether libcurl would have sent the request again, had its content begun anew.
    var failedToRewind: Bool {
        result == CurlFault.rewindError && !hasHead
    }

    /// Whether the server speaks none of the versions of HTTP that were offered (RFC 7301 §3.2).
    var wasOfferedNoVersion: Bool {
        guard result == CurlFault.tlsConnectError else { return false }
        let text = faultText(CurlFault.tlsConnectError)
        // The second are the words of OpenSSL 1.1.
        return text.contains("application protocol") || text.contains("reason(1120)")
    }

    /// What libcurl says of a failure.
    func faultText(_ code: Int32) -> String {
        let text = unsafe withUnsafeBytes(of: &pointer.pointee.error) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return text.isEmpty ? CurlLibrary.text(of: code) : text
    }
}
