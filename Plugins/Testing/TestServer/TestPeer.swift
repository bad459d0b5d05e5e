// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

extension TestAnswer {
    /// 101, and a connection whose other end a closure plays.
    /// - Parameters:
    ///   - name: The protocol that the connection has switched to.
    ///   - headers: The other header fields.
    ///   - first: Bytes that are sent together with the head.
    ///   - serve: Plays the server on the connection's thread; the connection ends when it returns.
    /// - Returns: The answer.
    public static func upgrade(
        to name: String, headers: HTTPHeaders = [:], first: Data = Data(),
        _ serve: @escaping @Sendable (TestPeer) -> Void
    ) -> TestAnswer {
        TestAnswer { _ in
            var fields = headers
            fields[.upgrade] = name
            fields[.connection] = "Upgrade"
            return [.write(head(101, fields) + first), .serve(serve)]
        }
    }
}

/// The server's end of a connection that has switched to another protocol (``TestAnswer/upgrade(to:headers:first:_:)``).
public struct TestPeer: Sendable {
    let socket: TestSocket

    /// Waits for the next bytes; nil when the client has ended the connection or its side of it.
    public func read() -> Data? { socket.read() }

    /// Writes all bytes, and returns whether the client has taken them.
    @discardableResult
    public func write(_ bytes: Data) -> Bool { socket.write(bytes) }
}
