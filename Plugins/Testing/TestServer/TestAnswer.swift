// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// The response of a ``TestServer`` to a request, as a list of writes, waits and endings.
public struct TestAnswer: Sendable {
    enum Step: Sendable {
        case write(Data)
        case fill(byte: UInt8, count: Int64)
        case wait(Duration)
        case endless(Data, every: Duration)
        case hold(TestHold)
        /// The closure receives the bytes after the request's head.
        case serve(@Sendable (TestPeer, Data) -> Void)
        case close
        case reset
    }

    private let make: @Sendable (ReceivedRequest) -> [Step]
    var readsBody = true
    var sendsContinue = true
    var readingHold: TestHold?
    var followsContent = true

    init(_ make: @escaping @Sendable (ReceivedRequest) -> [Step]) { self.make = make }

    func steps(for request: ReceivedRequest) -> [Step] { make(request) }

    // MARK: Whole responses

    /// A response with a `Content-Length`.
    public static func status(
        _ status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data()
    ) -> TestAnswer {
        TestAnswer { request in
            let isBodiless = request.method == .head || status.endsWithHead
            var fields = headers
            if status != 204 { fields.setIfAbsent(.contentLength, String(body.count)) }
            let head = head(status, fields)
            return [.write(isBodiless ? head : head + body)]
        }
    }

    /// A response with the status 200 and text.
    public static func ok(text: String = "", headers: HTTPHeaders = [:]) -> TestAnswer {
        typed("text/plain; charset=utf-8", headers, Data(text.utf8))
    }

    /// A response with the status 200 and JSON.
    public static func ok(json: JSONValue, headers: HTTPHeaders = [:]) -> TestAnswer {
        typed("application/json", headers, json.data())
    }

    /// A response with the status 200 and bytes.
    public static func ok(
        data: Data, type: MediaType = .octetStream, headers: HTTPHeaders = [:]
    ) -> TestAnswer { typed(type.description, headers, data) }

    /// Content of many equal bytes, which is not held in memory.
    /// - Parameters:
    ///   - count: The declared number of bytes.
    ///   - byte: The byte.
    ///   - status: The status.
    ///   - headers: Header fields.
    ///   - sending: The number of bytes before the connection is closed, or nil for all bytes.
    /// - Returns: The answer.
    public static func bytes(
        _ count: Int64, of byte: UInt8 = 0x78, status: HTTPStatus = .ok, headers: HTTPHeaders = [:],
        sending: Int64? = nil
    ) -> TestAnswer {
        TestAnswer { request in
            var headers = headers
            headers.setIfAbsent(.contentType, MediaType.octetStream.description)
            headers[.contentLength] = String(count)
            var steps: [Step] = [.write(head(status, headers))]
            if request.method == .head { return steps }
            steps.append(.fill(byte: byte, count: min(sending ?? count, count)))
            if let sending, sending < count { steps.append(.close) }
            return steps
        }
    }

    /// A response with endless content, until the client closes the connection.
    public static func endless(
        _ chunk: Data = Data(count: 65_536), every interval: Duration = .milliseconds(2),
        status: HTTPStatus = .ok, headers: HTTPHeaders = [:]
    ) -> TestAnswer {
        TestAnswer { _ in [.write(head(status, headers)), .endless(chunk, every: interval)] }
    }

    /// A response with the status 200 and the request as JSON.
    public static var echo: TestAnswer {
        TestAnswer { request in
            let content = request.echo.data()
            return [
                .write(
                    head(
                        .ok,
                        [
                            "Content-Type": "application/json",
                            "Content-Length": String(content.count),
                        ]) + content)
            ]
        }
    }

    /// A redirect.
    public static func redirect(_ status: HTTPStatus, to location: String) -> TestAnswer {
        .status(status, headers: ["Location": location], body: Data("moved".utf8))
    }

    /// A response that depends on the request.
    public static func handler(
        _ answer: @escaping @Sendable (ReceivedRequest) -> TestAnswer
    ) -> TestAnswer { TestAnswer { answer($0).steps(for: $0) } }

    // MARK: Responses in parts

    /// A chunked response (RFC 9112 §7.1).
    /// - Parameters:
    ///   - chunks: The chunks.
    ///   - status: The status.
    ///   - interval: The time before each chunk.
    ///   - headers: Header fields.
    ///   - endsWell: Whether the last chunk is sent. If false, the connection is closed instead.
    ///   - trailers: The trailer fields after the last chunk.
    /// - Returns: The answer.
    public static func chunked(
        _ chunks: [Data], status: HTTPStatus = .ok, every interval: Duration = .zero,
        headers: HTTPHeaders = [:], endsWell: Bool = true, trailers: HTTPHeaders = [:]
    ) -> TestAnswer {
        TestAnswer { request in
            var fields = headers
            fields[.transferEncoding] = "chunked"
            var steps: [Step] = [.write(head(status, fields))]
            if request.method == .head { return steps }
            for chunk in chunks {
                if interval > .zero { steps.append(.wait(interval)) }
                let size = Data((String(chunk.count, radix: 16) + "\r\n").utf8)
                steps.append(.write(size + chunk + Data("\r\n".utf8)))
            }
            let end = Data("0\r\n".utf8) + lines(trailers) + Data("\r\n".utf8)
            steps.append(endsWell ? .write(end) : .close)
            return steps
        }
    }

    /// A chunked response with the status 200 that waits before a chunk until a hold is opened.
    /// - Parameters:
    ///   - chunks: The chunks.
    ///   - hold: Delays the chunk and all later chunks.
    ///   - index: The index of the waiting chunk.
    /// - Returns: The answer.
    public static func chunked(
        _ chunks: [Data], holding hold: TestHold, before index: Int
    ) -> TestAnswer {
        let answer = chunked(chunks)
        return TestAnswer { request in
            var steps = answer.steps(for: request)
            // The wait follows the head and the previous chunks.
            steps.insert(.hold(hold), at: min(index + 1, steps.count))
            return steps
        }
    }

    /// A response whose content is sent in small pieces of at least one byte.
    public static func drip(
        _ content: Data, bytes: Int = 1, every interval: Duration, status: HTTPStatus = .ok,
        headers: HTTPHeaders = [:]
    ) -> TestAnswer {
        TestAnswer { request in
            var fields = headers
            fields[.contentLength] = String(content.count)
            var steps: [Step] = [.write(head(status, fields))]
            if request.method == .head { return steps }
            var rest = content[...]
            while !rest.isEmpty {
                steps += [.wait(interval), .write(rest.prefix(max(bytes, 1)))]
                rest = rest.dropFirst(max(bytes, 1))
            }
            return steps
        }
    }

    /// A response with the status 200 whose connection ends before the declared length.
    public static func short(declared: Int, sent: Data) -> TestAnswer {
        TestAnswer { _ in [.write(head(.ok, ["Content-Length": String(declared)]) + sent), .close] }
    }

    /// A response with the head, a part of the content, and a TCP reset at the end.
    public static func reset(after sent: Data, declared: Int) -> TestAnswer {
        TestAnswer { _ in [.write(head(.ok, ["Content-Length": String(declared)]) + sent), .reset] }
    }

    /// Raw bytes, after which the connection is closed or stays open.
    public static func raw(_ bytes: Data, closes: Bool = true) -> TestAnswer {
        TestAnswer { _ in closes ? [.write(bytes), .close] : [.write(bytes)] }
    }

    /// Closes the connection without sending a byte.
    public static var close: TestAnswer { TestAnswer { _ in [.close] } }

    /// Resets the connection without sending a byte.
    public static var reset: TestAnswer { TestAnswer { _ in [.reset] } }

    /// Sends nothing until the client or the server closes the connection.
    public static var silence: TestAnswer { TestAnswer { _ in [.hold(TestHold())] } }

    // MARK: Modifiers

    /// Returns the same response after a delay.
    public func delayed(by delay: Duration) -> TestAnswer { prefixed(.wait(delay)) }

    /// Returns the same response, delayed until a test opens the hold.
    public func held(by hold: TestHold) -> TestAnswer { prefixed(.hold(hold)) }

    /// Returns the same response after interim responses (RFC 9110 §15.2), such as 103.
    public func preceded(by interim: [HTTPStatus], headers: HTTPHeaders = [:]) -> TestAnswer {
        interim.reversed().reduce(self) { $0.prefixed(.write(Self.head($1, headers))) }
    }

    /// Returns the same response, after which the connection is closed without `Connection: close`.
    public func thenClose() -> TestAnswer {
        changed { $0 + [.close] }
    }

    /// Returns the same response, truncated after a number of bytes.
    /// - Parameters:
    ///   - count: The maximum number of bytes to send, including the head.
    ///   - resets: Whether the connection is reset instead of closed.
    /// - Returns: The answer.
    public func cut(after count: Int, resets: Bool = false) -> TestAnswer {
        changed { steps in
            var left = count
            var kept: [Step] = []
            for step in steps {
                switch step {
                case .write(let data):
                    kept.append(.write(data.prefix(left)))
                    left -= min(left, data.count)
                case .fill(let byte, let count):
                    kept.append(.fill(byte: byte, count: min(count, Int64(left))))
                    left -= Int(min(count, Int64(left)))
                default: kept.append(step)
                }
                if left == 0 { break }
            }
            return kept + [resets ? .reset : .close]
        }
    }

    /// Returns the same response without reading the request's content.
    public func withoutReading() -> TestAnswer {
        var copy = self
        copy.readsBody = false
        return copy
    }

    /// Returns the same response without an interim response to `Expect: 100-continue`.
    public func withoutContinue() -> TestAnswer {
        var copy = self
        copy.sendsContinue = false
        return copy
    }

    /// Returns the same response with a wait for the hold after `Expect: 100-continue`.
    ///
    /// The content is requested and read when a test opens the hold.
    public func reading(heldBy hold: TestHold) -> TestAnswer {
        var copy = self
        copy.readingHold = hold
        return copy
    }

    private func prefixed(_ step: Step) -> TestAnswer { changed { [step] + $0 } }

    private func changed(_ change: @escaping @Sendable ([Step]) -> [Step]) -> TestAnswer {
        var copy = TestAnswer { [make] in change(make($0)) }
        copy.readsBody = readsBody
        copy.sendsContinue = sendsContinue
        copy.readingHold = readingHold
        copy.followsContent = followsContent
        return copy
    }

    private static func typed(_ type: String, _ headers: HTTPHeaders, _ body: Data) -> TestAnswer {
        var headers = headers
        headers.setIfAbsent(.contentType, type)
        return .status(.ok, headers: headers, body: body)
    }

    static func head(_ status: HTTPStatus, _ headers: HTTPHeaders) -> Data {
        Data("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n".utf8) + lines(headers)
            + Data("\r\n".utf8)
    }

    private static func lines(_ headers: HTTPHeaders) -> Data {
        Data(headers.map { "\($0.name.rawValue): \($0.value)\r\n" }.joined().utf8)
    }
}
