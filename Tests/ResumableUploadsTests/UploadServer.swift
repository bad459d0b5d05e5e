// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeResumableUploads
import TurnpikeSupport
import TurnpikeTesting

/// What a server for resumable uploads does, for both protocols, without a network.
///
/// It is a transport, and ``UploadSocketServer`` puts it behind a port.
final class UploadServer: Sendable {
    /// An upload resource.
    struct Resource: Sendable {
        var content = Data()
        let length: Int64
        var isComplete = false
    }

    /// A request that has arrived.
    struct Arrival: Sendable {
        let method: HTTPMethod
        let url: URL
        let headers: HTTPHeaders
        /// How many bytes of its content the server has taken.
        var bytes = 0

        /// The request in short: `PATCH /1 30`.
        var summary: String {
            "\(method) \(url.path()) " + (headers["Upload-Offset"] ?? "-")
        }
    }

    struct Answer: Sendable {
        var status: HTTPStatus
        var headers: HTTPHeaders = [:]
        var body = Data()
    }

    enum Verdict {
        case answer(Answer)
        /// Takes at most this many bytes of the content; then the connection breaks.
        case take(cut: Int?)
    }

    struct Setup: Sendable {
        /// The `Location` of an upload resource, before its number.
        var prefix = "/uploads/"
        /// The fields of each response of an upload resource.
        var fields: HTTPHeaders = [:]
        /// After how many bytes the connection of the next parts breaks; nil lets a part end.
        var cuts: [Int?] = []
        /// Whether the content that completes an upload is answered; otherwise the connection
        /// breaks behind it.
        var answersEnd = true
        /// Called with the number of bytes of an upload that the server has.
        var onTake: @Sendable (Int) -> Void = { _ in }
        /// Answers a request in place of the server.
        var override: @Sendable (Arrival, inout [Int: Resource]) -> Answer? = { _, _ in nil }
    }

    private struct State {
        var setup = Setup()
        var resources: [Int: Resource] = [:]
        var arrivals: [Arrival] = []
    }

    let dialect: ResumableUploadOptions.Dialect
    private let state = Mutex(State())

    init(_ dialect: ResumableUploadOptions.Dialect) { self.dialect = dialect }

    func update(_ change: (inout Setup) -> Void) { state.withLock { change(&$0.setup) } }

    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    var summaries: [String] { arrivals.map(\.summary) }
    var contents: [Data] {
        state.withLock { state in
            state.resources.sorted { $0.key < $1.key }.filter(\.value.isComplete)
                .map(\.value.content)
        }
    }
    /// How many bytes of unfinished uploads the server has.
    var unfinishedBytes: Int {
        state.withLock {
            $0.resources.values.reduce(0) { $0 + ($1.isComplete ? 0 : $1.content.count) }
        }
    }
    /// Forgets all uploads and requests.
    func forget() {
        state.withLock { state in
            state.resources = [:]
            state.arrivals = []
        }
    }

    /// Begins an exchange.
    func begin(_ method: HTTPMethod, _ url: URL, _ headers: HTTPHeaders) -> Verdict {
        state.withLock { state in
            let arrival = Arrival(method: method, url: url, headers: headers)
            state.arrivals.append(arrival)
            if let answer = state.setup.override(arrival, &state.resources) {
                return .answer(answer)
            }
            let version =
                dialect == .tus ? headers["Tus-Resumable"] : headers["Upload-Draft-Interop-Version"]
            guard version == (dialect == .tus ? "1.0.0" : "8") else {
                return .answer(Answer(status: 412))
            }
            if method == .post { return .answer(create(headers, &state)) }
            guard let id = Int(url.lastPathComponent), let resource = state.resources[id] else {
                return .answer(Answer(status: 404))
            }
            switch method {
            case .head:
                return .answer(
                    Answer(status: dialect == .tus ? 200 : 204, headers: fields(resource, state)))
            case .delete:
                state.resources[id] = nil
                return .answer(Answer(status: 204))
            default: break
            }
            let type =
                dialect == .tus ? "application/offset+octet-stream" : "application/partial-upload"
            guard method == .patch, headers[.contentType] == type,
                !headers.contains(.contentEncoding)
            else { return .answer(Answer(status: 415)) }
            guard headers["Upload-Offset"] == "\(resource.content.count)" else {
                return .answer(Answer(status: 409, headers: fields(resource, state)))
            }
            let cut = state.setup.cuts.isEmpty ? nil : state.setup.cuts.removeFirst()
            return .take(cut: cut)
        }
    }

    private func create(_ headers: HTTPHeaders, _ state: inout State) -> Answer {
        guard let length = headers["Upload-Length"].flatMap({ Int64($0) }),
            dialect == .tus || headers["Upload-Complete"] == "?0"
        else { return Answer(status: 400) }
        let id = state.resources.keys.max().map { $0 + 1 } ?? 1
        let resource = Resource(length: length)
        state.resources[id] = resource
        var fields = fields(resource, state)
        fields["Location"] = state.setup.prefix + "\(id)"
        return Answer(status: 201, headers: fields)
    }

    private func fields(_ resource: Resource, _ state: State) -> HTTPHeaders {
        var fields = state.setup.fields
        fields["Upload-Offset"] = "\(resource.content.count)"
        fields["Upload-Length"] = "\(resource.length)"
        if dialect == .draft { fields["Upload-Complete"] = resource.isComplete ? "?1" : "?0" }
        return fields
    }

    /// Takes a chunk of a part.
    func take(_ chunk: Data, _ url: URL) {
        let (onTake, count) = state.withLock { state in
            state.arrivals[state.arrivals.count - 1].bytes += chunk.count
            let id = Int(url.lastPathComponent) ?? 0
            state.resources[id]?.content.append(chunk)
            return (state.setup.onTake, state.resources[id]?.content.count ?? 0)
        }
        onTake(count)
    }

    /// Answers a part that was taken to its end; nil breaks the connection.
    func end(_ url: URL, _ headers: HTTPHeaders) -> Answer? {
        state.withLock { state in
            guard let id = Int(url.lastPathComponent), var resource = state.resources[id] else {
                return Answer(status: 404)
            }
            let isWhole = Int64(resource.content.count) == resource.length
            resource.isComplete = isWhole && (dialect == .tus || headers["Upload-Complete"] == "?1")
            state.resources[id] = resource
            guard resource.isComplete else {
                return Answer(status: 204, headers: fields(resource, state))
            }
            guard state.setup.answersEnd else {
                state.setup.answersEnd = true
                return nil
            }
            if dialect == .tus { return Answer(status: 204, headers: fields(resource, state)) }
            return Answer(
                status: 200, headers: ["Upload-Complete": "?1", "Content-Type": "text/plain"],
                body: Data("stored \(resource.length)".utf8))
        }
    }
}

extension UploadServer: Transport {
    var capabilities: TransportCapabilities { [] }

    func shutdown() async {}

    func send(_ request: Request, context: Context) async throws -> Response {
        let broken = ClientError(
            .connection, "the connection broke", transfer: TransferState(.sending))
        var answer: Answer
        switch begin(request.method, request.url, request.headers) {
        case .answer(let given): answer = given
        case .take(let cut):
            let reader = try request.body.open()
            var left = cut ?? .max
            while let chunk = try await reader.nextToSend() {
                try Task.checkCancellation()
                take(chunk.prefix(left), request.url)
                left -= min(left, chunk.count)
                if left == 0 { throw broken }
            }
            if cut != nil { throw broken }
            guard let given = end(request.url, request.headers) else { throw broken }
            answer = given
        }
        if request.method == .head { answer.body = Data() }
        return Response(
            to: request, status: answer.status, headers: answer.headers,
            body: ResponseBody(answer.body))
    }
}

/// Time that passes as soon as someone waits for it.
final class HastyTime: TimeSource {
    private let clock = ManualClock()
    private let waits = Mutex<[Duration]>([])

    /// The waits, in order.
    var waited: [Duration] { waits.withLock { $0 } }
    var now: MonotonicInstant { clock.now }
    var date: Date { clock.date }

    func pass(_ time: Duration) { clock.advance(by: time) }

    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        let token = clock.schedule(after: delay, handler)
        waits.withLock { $0.append(delay) }
        clock.advance(by: delay)
        return token
    }
}
