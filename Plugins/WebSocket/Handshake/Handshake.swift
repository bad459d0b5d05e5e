// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The request and the checks of the opening handshake (RFC 6455 §4).
struct Handshake {
    let protocols: [String]
    let offersDeflate: Bool
    var key = Handshake.newKey()

    struct Agreement: Equatable {
        let protocolName: String?
        let deflate: DeflateAgreement?
    }

    /// Returns sixteen random bytes of the system in Base64.
    static func newKey() -> String {
        Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
    }

    /// Returns the `Sec-WebSocket-Accept` that the server must send for a key (RFC 6455 §4.2.2).
    static func accept(for key: String) -> String {
        SHA1.digest(of: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
            .base64EncodedString()
    }

    func call(_ call: Call) -> Call {
        var call = call.streaming()
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", key)
        if !protocols.isEmpty {
            call = call.header("Sec-WebSocket-Protocol", protocols.joined(separator: ", "))
        }
        if offersDeflate { call = call.header("Sec-WebSocket-Extensions", DeflateAgreement.offer) }
        call.request.options.upgrade = "websocket"
        call.request.targetURI = Self.overHTTP(call.request.targetURI)
        return call
    }

    /// Returns the URI with http for ws and https for wss, because gates support only these
    /// schemes.
    static func overHTTP(_ uri: TargetURI) -> TargetURI {
        let parts = uri.text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2,
            let scheme = ["ws": "http", "wss": "https"][parts[0].lowercased()]
        else { return uri }
        return URL(string: "\(scheme):\(parts[1])").map { TargetURI($0) } ?? uri
    }

    func check(
        _ headers: HTTPHeaders, switchingTo upgrade: String
    ) throws(Violation) -> Agreement {
        guard Grammar.equalsIgnoringCase(upgrade, "websocket") else {
            throw refusal("the server switched to a protocol other than websocket")
        }
        guard headers["Sec-WebSocket-Accept"].map({ Grammar.trimmed($0) }) == Self.accept(for: key)
        else { throw refusal("the server's Sec-WebSocket-Accept does not match the key") }
        let protocolName = headers["Sec-WebSocket-Protocol"]
        if let protocolName, !protocols.contains(protocolName) {
            throw refusal("the server chose a protocol that was not offered")
        }
        let deflate = try DeflateAgreement.read(
            headers["Sec-WebSocket-Extensions"], wasOffered: offersDeflate)
        return Agreement(protocolName: protocolName, deflate: deflate)
    }

    private func refusal(_ message: String) -> Violation { Violation(.protocolError, message) }
}
