// SPDX-License-Identifier: Apache-2.0

package import Foundation
import TurnpikeCore
import TurnpikeSupport
package import TurnpikeTesting

/// A frame as a server sees or writes it.
package struct RawFrame: Equatable, Sendable {
    package var first: UInt8
    package var content: Data

    package init(_ first: UInt8, _ content: Data = Data()) {
        (self.first, self.content) = (first, content)
    }

    package init(_ first: UInt8, _ text: String) { self.init(first, Data(text.utf8)) }

    package static func close(_ code: UInt16, _ reason: String = "") -> RawFrame {
        RawFrame(0x88, Data([UInt8(code >> 8), UInt8(code & 0xFF)]) + Data(reason.utf8))
    }

    /// The bytes without a mask.
    package var bytes: Data {
        var bytes = Data([first])
        switch content.count {
        case ..<126: bytes.append(UInt8(content.count))
        case ..<65_536: bytes += [126, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
        default:
            bytes.append(127)
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: content.count >> (56 - 8 * $0)) }
        }
        return bytes + content
    }
}

extension TestAnswer {
    /// A WebSocket without extensions.
    /// - Parameters:
    ///   - first: Bytes that are sent together with the head.
    ///   - serve: Is called with each frame of the client, and writes what it likes. The connection
    ///     ends behind a close frame.
    /// - Returns: The answer.
    package static func webSocket(
        first: Data = Data(), _ serve: @escaping @Sendable (RawFrame, TestPeer) -> Void
    ) -> TestAnswer {
        .handler { request in
            let key = request.headers["Sec-WebSocket-Key"] ?? ""
            let digest = SHA1.digest(of: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
            return .upgrade(
                to: "websocket", headers: ["Sec-WebSocket-Accept": digest.base64EncodedString()],
                first: first
            ) { peer in
                var reader = Reader(peer: peer)
                while let frame = reader.next() {
                    serve(frame, peer)
                    if frame.first == 0x88 { return }
                }
            }
        }
    }

    /// A WebSocket that returns each frame, and closes with a code after the text `end CODE`.
    package static func webSocketEcho(first: Data = Data()) -> TestAnswer {
        webSocket(first: first) { frame, peer in
            guard frame.content.starts(with: Data("end ".utf8)) else {
                peer.write(frame.bytes)
                return
            }
            let code = UInt16(String(decoding: frame.content.dropFirst(4), as: UTF8.self))
            peer.write(RawFrame.close(code ?? 1000).bytes)
        }
    }

    /// Reads masked frames.
    private struct Reader {
        let peer: TestPeer
        var bytes = Data()

        mutating func next() -> RawFrame? {
            guard let head = take(2) else { return nil }
            var count = Int(head[1] & 0x7F)
            if count > 125 {
                guard let long = take(count == 126 ? 2 : 8) else { return nil }
                count = long.reduce(0) { $0 << 8 | Int($1) }
            }
            guard let mask = take(4), var content = take(count) else { return nil }
            for index in content.indices { content[index] ^= mask[index % 4] }
            return RawFrame(head[0], content)
        }

        private mutating func take(_ count: Int) -> Data? {
            while bytes.count < count {
                guard let more = peer.read() else { return nil }
                bytes += more
            }
            defer { bytes = Data(bytes.dropFirst(count)) }
            return Data(bytes.prefix(count))
        }
    }
}
