// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

// The reports of libcurl and the TLS libraries about a failed handshake.
extension CurlFault {
    /// Returns what a handshake that failed means, by the words of OpenSSL and GnuTLS.
    static func handshake(_ text: String) -> Kind {
        // An answer that is no record of TLS.
        if has(text, "wrong version number", "packet length too long", "unexpected tls packet") {
            return Kind(
                code: .tls,
                message: "the server's answer is not TLS; perhaps it expects http and not https")
        }
        // A server that restarts, or whose queue is full, ends connections that it has not looked at.
        // That says nothing of TLS, and the next attempt may succeed.
        let isCut = has(
            text, "connection reset", "broken pipe", "ssl_error_syscall", "unexpected eof",
            "non-properly terminated", "in the pull function", "in the push function")
        return isCut
            ? Kind(
                code: .connection,
                message: "the server ended the connection within the TLS handshake")
            : Kind(code: .tls, message: tlsMessage(tlsConnectError))
    }

    /// Returns why a server's certificate was refused, as far as OpenSSL and GnuTLS say it, and what
    /// to try.
    static func refusedCertificate(_ text: String) -> String {
        let reason =
            if has(text, "subject name", "not match", "hostname mismatch") {
                "it is for another name than the URL's host"
            } else if has(text, "expired") {
                "it has expired, or this machine's clock is wrong"
            } else if has(text, "not yet valid") {
                "it is not valid yet, or this machine's clock is wrong"
            } else if has(text, "revoked") {
                "it is revoked"
            } else {
                "if an authority of your own has signed it, name that as the transport's"
                    + " trust.authorities; if a public one has, see whether this machine has its"
                    + " authorities (ca-certificates)"
            }
        return "the server's certificate was refused; " + reason
    }

    static func tlsMessage(_ code: Int32) -> String {
        switch code {
        case 90: "the server's public key is none of the pinned ones"
        case 58, 98: "the client's certificate could not be used, or was refused"
        case 77: "the certificate authorities could not be read"
        default: "the TLS handshake failed"
        }
    }
}
