// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

extension TestAnswer {
    /// A 101, and a connection on which a closure plays the server.
    /// - Parameters:
    ///   - name: The protocol of the connection after the switch.
    ///   - headers: The other header fields.
    ///   - first: Bytes that are sent directly after the head.
    ///   - serve: Plays the server on the connection's thread. The connection ends with it.
    /// - Returns: The answer.
    public static func upgrade(
        to name: String, headers: HTTPHeaders = [:], first: Data = Data(),
        _ serve: @escaping @Sendable (TestPeer) -> Void
    ) -> TestAnswer {
        TestAnswer { _ in
            var fields = headers
            fields[.upgrade] = name
            fields[.connection] = "Upgrade"
            return [.write(head(101, fields) + first), .serve { peer, _ in serve(peer) }]
        }
    }
}

/// The server's end of a connection that has switched to another protocol (``TestAnswer/upgrade(to:headers:first:_:)``).
public struct TestPeer: Sendable {
    let socket: TestSocket

    /// Waits for the next bytes; nil if the client has ended the connection or its side.
    public func read() -> Data? { socket.read() }

    /// Writes all bytes.
    ///
    /// Returns whether the client has received them.
    @discardableResult
    public func write(_ bytes: Data) -> Bool { socket.write(bytes) }
}
