// SPDX-License-Identifier: Apache-2.0

import Testing
import Turnpike

@testable import TurnpikeCurl

/// What libcurl says, where there is no server here that fails so.
@Suite("Failures over libcurl, by its words")
struct CurlFaultTests {
    private func code(
        _ code: Int32, _ text: String, _ phase: TransferState.Phase = .sending,
        isHTTP2: Bool = true, hasGoAway: Bool = false, hasLength: Bool = false
    ) -> ClientError.Code {
        CurlFault.kind(
            of: code, text: text,
            CurlFault.Circumstances(
                phase: phase, isHTTP2: isHTTP2, hasGoAway: hasGoAway, hasLength: hasLength)
        ).code
    }

    @Test("A stream whose server breaks HTTP is a fault of the protocol, which no retry mends")
    func broken() {
        for name in ["PROTOCOL_ERROR (err 1)", "FLOW_CONTROL_ERROR (err 3)"] {
            let text = "HTTP/2 stream 1 was not closed cleanly: \(name)"
            #expect(code(92, text) == .protocol)
            #expect(code(92, text, .receiving) == .protocol)
            #expect(code(92, text, .receiving, hasLength: true) == .incomplete)
        }
        let closing = "ngtcp2_conn_writev_stream returned error: ERR_CLOSING"
        for number: Int32 in [55, 56] {
            #expect(code(number, closing) == .protocol)
            #expect(code(number, closing, .receiving, hasLength: true) == .incomplete)
            #expect(code(number, closing, .connecting) == .connection)
        }
        let fatal = "nghttp2_session_mem_recv() returned -103:Received bad connection preface"
        #expect(code(56, fatal) == .protocol)
        // The session was ended on this side.
        #expect(code(52, "Empty reply from server") == .protocol)
        #expect(code(52, "Empty reply from server", isHTTP2: false) == .connection)
    }

    @Test("A stream that the server gives up is a lost connection")
    func reset() {
        for name in ["INTERNAL_ERROR (err 2)", "CANCEL (err 8)", "ENHANCE_YOUR_CALM (err 11)"] {
            let text = "HTTP/2 stream 1 was not closed cleanly: \(name)"
            #expect(code(92, text) == .connection)
            #expect(code(92, text, .receiving) == .incomplete)
        }
        for text in ["HTTP/3 stream 0 reset by server", "ngtcp2_conn: ERR_DRAINING"] {
            #expect(code(95, text) == .connection)
            #expect(code(55, text, .receiving, hasLength: true) == .incomplete)
        }
    }

    @Test(
        "A server that speaks no HTTP may want https, unless it has that",
        arguments: [true, false])
    func garbled(isSecure: Bool) {
        let circumstances = CurlFault.Circumstances(phase: .receiving, isSecure: isSecure)
        let text = "Received HTTP/0.9 when not allowed"
        let kind = CurlFault.kind(of: 1, text: text, circumstances)
        #expect(kind.code == .protocol)
        #expect(kind.message.contains("expects https") == !isSecure)
    }

    @Test(
        "A certificate that is refused says why, as far as that is known, and what to try",
        arguments: [
            ("SSL certificate problem: self-signed certificate", "trust.authorities"),
            (
                "SSL certificate problem: unable to get local issuer certificate",
                "trust.authorities"
            ),
            ("server certificate verification failed. CAfile: none", "trust.authorities"),
            ("SSL certificate problem: certificate has expired", "has expired"),
            ("SSL certificate problem: certificate is not yet valid", "clock"),
            ("SSL certificate problem: certificate revoked", "is revoked"),
            (
                "SSL: no alternative certificate subject name matches target host name 's3cret'",
                "for another name"
            ),
        ])
    func certificate(text: String, advice: String) {
        let kind = CurlFault.kind(
            of: 60, text: text, CurlFault.Circumstances(phase: .connecting, isSecure: true))
        #expect(kind.code == .tls)
        #expect(kind.message.hasPrefix("the server's certificate was refused; "))
        #expect(kind.message.contains(advice) && !kind.message.contains("s3cret"))
    }

    @Test("A connection that the server lets end is no fault of the protocol")
    func goAway() {
        let text = "Error in the HTTP2 framing layer"
        #expect(code(16, text) == .connection)
        #expect(code(16, text, .receiving) == .incomplete)
    }

    @Test("What waited for a place says so, also where libcurl ends it", arguments: [true, false])
    func places(hadPlace: Bool) {
        let circumstances = CurlFault.Circumstances(phase: .connecting, hadPlace: hadPlace)
        let kind = CurlFault.kind(of: 28, text: "Connection timeout after 200 ms", circumstances)
        #expect(kind.code == .connectTimeout)
        #expect(kind.message.contains("maxConnectionsPerHost") == !hadPlace)
    }

    @Test("What the server left undone is said to be so, and else what may be sent again")
    func undone() {
        for code: Int32 in [42, 65] {
            func message(_ phase: TransferState.Phase) -> String {
                CurlFault.kind(
                    of: code, text: "", CurlFault.Circumstances(phase: phase, isHTTP2: true)
                ).message
            }
            #expect(message(.connecting).contains("did not process the request"))
            #expect(message(.sending).contains("ended before an answer"))
        }
    }

    @Test("Only a body that had begun can end early")
    func early() {
        let text =
            "HTTP/2 stream 1 was not closed cleanly before end of the underlying stream"
        #expect(code(18, text) == .connection)
        #expect(code(18, text, .receiving) == .incomplete)
    }

    @Test(
        "A connection that ends within the TLS handshake is lost, and may be had at the next attempt",
        arguments: [
            "Send failure: Connection reset by peer", "Recv failure: Connection reset by peer",
            "OpenSSL SSL_connect: Connection reset by peer in connection to localhost:443",
            "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to localhost:443",
            "TLS connect error: error:0A000126:SSL routines::unexpected eof while reading",
            "gnutls_handshake() failed: The TLS connection was non-properly terminated.",
            "gnutls_handshake() failed: Error in the pull function.",
        ])
    func cutHandshake(text: String) {
        #expect(code(35, text, .connecting) == .connection)
    }

    @Test(
        "A handshake that fails for another reason is one of TLS",
        arguments: [
            "error:0A00010B:SSL routines::wrong version number",
            "error:0A000410:SSL routines::sslv3 alert handshake failure",
            "OpenSSL SSL_connect: SSL_ERROR_ZERO_RETURN in connection to localhost:443",
            "gnutls_handshake() failed: No supported application protocol could be negotiated",
        ])
    func failedHandshake(text: String) {
        #expect(code(35, text, .connecting) == .tls)
    }

    @Test("A head that is larger than the library takes is too large, however it says so")
    func heads() {
        let words = [
            "nghttp2_session_mem_recv() returned -902:The user callback function failed",
            "nghttp2_session_mem_recv() returned -905:Too many CONTINUATION frames following a"
                + " HEADER frame",
        ]
        for text in words {
            #expect(code(56, text) == .tooLarge)
            #expect(code(56, text, .receiving) == .tooLarge)
        }
        // On a connection that its server ends, nothing was too large.
        #expect(code(56, words[0], hasGoAway: true) == .connection)
        #expect(code(56, words[0], .receiving, hasGoAway: true) == .incomplete)
        #expect(code(56, words[1], hasGoAway: true) == .tooLarge)
    }
}
