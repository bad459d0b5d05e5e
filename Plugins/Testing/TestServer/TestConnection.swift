// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Synchronization
public import TurnpikeCore

final class TestConnection: Sendable {
    private let socket: TestSocket
    private let isAborted = Atomic(false)

    private static let keptBytes = 1_048_576

    init(socket: TestSocket) { self.socket = socket }

    /// Ends the connection from another thread.
    func abort() {
        isAborted.store(true, ordering: .releasing)
        socket.shutDown()
    }

    func serve(number: Int, server: () -> TestServer?) {
        var buffer = Data()
        while !isAborted.load(ordering: .acquiring) {
            guard let head = readHead(&buffer),
                var request = ReceivedRequest(head: head, connection: number),
                let server = server()
            else { return }
            // The selected response decides whether the content is read.
            let isBodiless =
                request.headers[.contentLength] == nil && request.headers[.transferEncoding] == nil
            let waits = request.headers[.expect] != nil
            let comesUnasked =
                !isBodiless && !waits && server.nextAnswer(for: request.path).followsContent
            if comesUnasked {
                server.didReceiveHead()
                readBody(&request, &buffer)
            }
            let answer = server.answer(to: request, isCounted: comesUnasked)
            if !isBodiless, waits, answer.readsBody {
                if let hold = answer.readingHold,
                    !wait(upTo: .seconds(3600), until: { hold.isOpen })
                {
                    return server.didAnswer(wasAbandoned: true)
                }
                if answer.sendsContinue {
                    _ = socket.write(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
                }
                readBody(&request, &buffer)
            }
            let end = play(answer.steps(for: request), behind: buffer)
            server.didAnswer(wasAbandoned: end == .abandoned)
            if end != .done { return }
        }
    }

    private enum End {
        case done
        /// The end of the connection ended the response.
        case closed
        /// The client closed the connection before the response was complete.
        case abandoned
    }

    private func readHead(_ buffer: inout Data) -> Data? {
        let mark = Data("\r\n\r\n".utf8)
        while true {
            if let end = buffer.range(of: mark) {
                let head = Data(buffer[buffer.startIndex..<end.upperBound])
                buffer = Data(buffer[end.upperBound...])
                return head
            }
            guard let chunk = socket.read() else { return nil }
            buffer.append(chunk)
        }
    }

    private func readBody(_ request: inout ReceivedRequest, _ buffer: inout Data) {
        if request.headers[.transferEncoding]?.lowercased() == "chunked" {
            readChunks(&request, &buffer)
        } else if let length = request.headers[.contentLength].flatMap({ Int64($0) }) {
            request.isComplete = read(length, &request, &buffer)
        }
    }

    private func readChunks(_ request: inout ReceivedRequest, _ buffer: inout Data) {
        while true {
            guard let line = readLine(&buffer),
                let size = Int64(Self.size(line), radix: 16), size >= 0
            else {
                request.isComplete = false
                return
            }
            if size == 0 {
                while let line = readLine(&buffer), !line.isEmpty {
                    _ = request.trailers.append(line: line)
                }
                return
            }
            guard read(size, &request, &buffer), readLine(&buffer) != nil else {
                request.isComplete = false
                return
            }
        }
    }

    // Returns the size before any chunk extensions.
    private static func size(_ line: Data) -> String {
        String(decoding: line.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
    }

    private func readLine(_ buffer: inout Data) -> Data? {
        while true {
            if let end = buffer.range(of: Data("\r\n".utf8)) {
                let line = Data(buffer[..<end.lowerBound])
                buffer = Data(buffer[end.upperBound...])
                return line
            }
            guard let chunk = socket.read() else { return nil }
            buffer.append(chunk)
        }
    }

    private func read(
        _ count: Int64, _ request: inout ReceivedRequest, _ buffer: inout Data
    ) -> Bool {
        var left = count
        while left > 0 {
            if buffer.isEmpty {
                guard let chunk = socket.read() else { return false }
                buffer = chunk
            }
            let part = buffer.prefix(Int(min(left, Int64(buffer.count))))
            request.bodyBytes += Int64(part.count)
            if request.body.count < Self.keptBytes {
                request.body.append(part.prefix(Self.keptBytes - request.body.count))
            }
            left -= Int64(part.count)
            buffer = Data(buffer.dropFirst(part.count))
        }
        return true
    }

    private func play(_ steps: [TestAnswer.Step], behind unread: Data) -> End {
        for step in steps {
            switch step {
            case .write(let data): if !socket.write(data) { return .abandoned }
            case .fill(let byte, let count): if !fill(byte, count) { return .abandoned }
            case .wait(let duration):
                if !wait(upTo: duration, until: { false }) { return .abandoned }
            case .endless(let chunk, let interval):
                while socket.write(chunk), wait(upTo: interval, until: { false }) {}
                return .abandoned
            case .hold(let hold):
                if !wait(upTo: .seconds(3600), until: { hold.isOpen }) { return .abandoned }
            case .serve(let serve):
                serve(TestPeer(socket: socket), unread)
                return .closed
            case .close: return .closed
            case .reset:
                socket.resetOnClose()
                return .closed
            }
        }
        return .done
    }

    private func fill(_ byte: UInt8, _ count: Int64) -> Bool {
        let chunk = Data(repeating: byte, count: 262_144)
        var left = count
        while left > 0 {
            let part = left < Int64(chunk.count) ? chunk.prefix(Int(left)) : chunk
            guard socket.write(part) else { return false }
            left -= Int64(part.count)
        }
        return true
    }

    // Waits in short steps, and notices a closed connection or the end of a hold.
    private func wait(upTo duration: Duration, until isOver: () -> Bool) -> Bool {
        let end = ContinuousClock.now + duration
        while !isOver() {
            let left = end - ContinuousClock.now
            if left <= .zero { return true }
            if isAborted.load(ordering: .acquiring)
                || socket.peerIsGone(within: min(left, .milliseconds(2)))
            {
                return false
            }
        }
        return true
    }
}

extension TestAnswer {
    /// A 101 response, after which a closure acts as the server on the connection.
    /// - Parameters:
    ///   - name: The protocol of the connection after the switch.
    ///   - headers: The other header fields.
    ///   - first: Bytes that are sent directly after the head.
    ///   - serve: Acts as the server on the connection's thread. The return of the closure ends the
    ///     connection.
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

/// The server's end of a connection after ``TestAnswer/upgrade(to:headers:first:_:)``.
public struct TestPeer: Sendable {
    let socket: TestSocket

    /// Waits for the next bytes, or returns nil after the client has closed the sending side.
    public func read() -> Data? { socket.read() }

    /// Writes all bytes, and returns whether the write was successful.
    @discardableResult
    public func write(_ bytes: Data) -> Bool { socket.write(bytes) }
}
