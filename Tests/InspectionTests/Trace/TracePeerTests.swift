// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeInspection

@Suite("The address of a peer in traces")
struct TracePeerTests {
    @Test(
        "It is read in its parts",
        arguments: [
            ("192.0.2.1", "192.0.2.1", nil), ("192.0.2.1:80", "192.0.2.1", 80),
            ("2001:db8::7", "2001:db8::7", nil), ("[2001:db8::7]:8080", "2001:db8::7", 8080),
            ("[2001:db8::7]", "2001:db8::7", nil), ("/run/a:1.sock", "/run/a:1.sock", nil),
            ("::1", "::1", nil), ("", "", nil), ("[", "", nil), ("a:x", "a", nil), (":", "", nil),
        ] as [(String, String, Int?)])
    func parts(_ text: String, host: String, port: Int?) {
        let peer = TracePeer(text)
        #expect(peer.host == host)
        #expect(peer.port == port)
        #expect(peer.isPath == text.hasPrefix("/"))
    }
}
