// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeCore
import TurnpikeSupport

@testable import TestSupport
@testable import TurnpikeTesting

/// An ``UploadServer`` behind a port of the loopback interface; a thread serves each connection.
final class UploadSocketServer: Sendable {
    let uploads: UploadServer
    let url: URL
    private let listener: UncheckedBox<LoopbackSocket>

    init(_ uploads: UploadServer) throws {
        self.uploads = uploads
        let listener = UncheckedBox(try LoopbackSocket.listening())
        self.listener = listener
        // What the kernel has received and the server has not read is lost with a connection.
        var size: CInt = 262_144
        _ = unsafe setsockopt(
            listener.value.descriptor, SOL_SOCKET, SO_RCVBUF, &size,
            socklen_t(MemoryLayout<CInt>.size))
        url = try #require(URL(string: "http://127.0.0.1:\(listener.value.port)/"))
        let base = url
        // Ends when the listener is shut down.
        Thread.detachNewThread {
            while let socket = listener.value.accepted() {
                let connection = UncheckedBox(socket)
                Thread.detachNewThread { Self.serve(connection.value, uploads, base) }
            }
        }
    }

    deinit { _ = shutdown(listener.value.descriptor, CInt(2)) }

    private static func serve(_ socket: LoopbackSocket, _ uploads: UploadServer, _ base: URL) {
        var buffer = Data()
        while let head = head(socket, &buffer),
            let request = ReceivedRequest(head: head, connection: 1)
        {
            let url = base.appending(path: request.path)
            switch uploads.begin(request.method, url, request.headers) {
            case .answer(let answer):
                guard write(answer, to: request, on: socket) else { return }
            case .take(let cut):
                if request.headers[.expect] != nil {
                    _ = socket.write(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
                }
                var left = request.headers[.contentLength].flatMap { Int($0) } ?? 0
                var allowed = cut ?? .max
                while left > 0 {
                    if buffer.isEmpty {
                        guard case .bytes(let chunk) = socket.read() else { return }
                        buffer = chunk
                    }
                    let chunk = Data(buffer.prefix(min(left, allowed)))
                    buffer = Data(buffer.dropFirst(chunk.count))
                    uploads.take(chunk, url)
                    left -= chunk.count
                    allowed -= chunk.count
                    if allowed == 0 { return }
                }
                guard let answer = uploads.end(url, request.headers),
                    write(answer, to: request, on: socket)
                else { return }
            }
        }
    }

    private static func head(_ socket: LoopbackSocket, _ buffer: inout Data) -> Data? {
        while true {
            if let end = buffer.range(of: Data("\r\n\r\n".utf8)) {
                defer { buffer = Data(buffer[end.upperBound...]) }
                return Data(buffer[..<end.upperBound])
            }
            guard case .bytes(let chunk) = socket.read() else { return nil }
            buffer += chunk
        }
    }

    private static func write(
        _ answer: UploadServer.Answer, to request: ReceivedRequest, on socket: LoopbackSocket
    ) -> Bool {
        let response = TestAnswer.status(answer.status, headers: answer.headers, body: answer.body)
        return response.steps(for: request).allSatisfy { step in
            if case .write(let data) = step { socket.write(data) == data.count } else { true }
        }
    }
}
