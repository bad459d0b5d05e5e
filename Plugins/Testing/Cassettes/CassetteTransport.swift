// SPDX-License-Identifier: Apache-2.0

public import Foundation
import Synchronization
public import TurnpikeCore
import TurnpikeSupport
import TurnpikeURLSession

/// Records the exchanges of a transport, and replays the exchanges without a network.
///
/// ```swift
/// let cassette = try CassetteTransport(file: file, mode: .fromEnvironment())
/// let client = Client(transport: cassette, stack: .standard)
/// let user = try await client.get("https://api.example.com/users/1").decode(User.self)
/// try cassette.verify()
/// ```
///
/// The file has the HAR 1.2 format. A cassette can replay exports of browsers and proxies, and
/// these tools can open recordings. At the end of each response, the whole file is replaced. The
/// file has mode 0600, and lists exchanges in the order of the sends. Several responses to equal
/// requests are replayed in order.
///
/// Secrets are replaced before the file is written. A replay needs no credentials, because requests
/// are compared in redacted form. If content cannot be parsed, only the kind, length and hash are
/// recorded (``withheld``). ``CassetteOptions/allowedTypes`` allows types that this library cannot
/// parse. With thousands of secrets, the file is not written, and calls fail with
/// ``/TurnpikeCore/ClientError/Code/tooLarge``. <doc:TestingYourClient> contains details.
///
/// A request without a response is not recorded. If a program reads only a part of the content,
/// this part is recorded, and a replay fails at the end of the part. Trailer fields are not
/// recorded, because HAR has no trailer fields. A one-shot request body is collected before the
/// comparison. In ``Mode/record``, the body is recorded during the send.
///
/// Only one transport may use a file at a time, because two recording transports would overwrite
/// each other's exchanges. A replay follows a link to the file. Recording rejects a link.
public final class CassetteTransport: Transport {
    /// The file with the recordings.
    public let file: URL
    /// The mode of the transport.
    public let mode: Mode
    private let tape: Tape?
    private let wrapped: (any Transport)?
    private let isShutDown = Atomic(false)

    /// Creates a transport, and reads the file if the mode needs the file.
    /// - Parameters:
    ///   - file: The file, whose folder is created when the file is written.
    ///   - mode: Whether requests are sent, recorded or answered from the file.
    ///   - transport: The transport for sending. With nil, modes that send use a
    ///     `URLSessionTransport`.
    ///   - options: The options for recording and finding exchanges.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if the file is missing in
    ///   ``Mode/replay``, is not a HAR file, or cannot be written because the path is a link or a
    ///   device. An exchange with a mistake is not an error (``skipped``).
    public init(
        file: URL, mode: Mode = .replay, transport: (any Transport)? = nil,
        options: CassetteOptions = CassetteOptions()
    ) throws {
        self.file = file
        self.mode = mode
        wrapped = mode == .replay ? nil : transport ?? URLSessionTransport()
        tape =
            mode == .pass
            ? nil
            : try Tape(
                file: file, options: options, isNew: mode == .record,
                mustExist: mode == .replay, givesOnce: mode == .recordMissing)
    }

    /// The capabilities of the wrapped transport, or in ``Mode/replay`` all except trailers.
    ///
    /// Only ``Mode/pass`` allows upgrades, because a cassette cannot record upgraded connections.
    public var capabilities: TransportCapabilities {
        if mode == .pass, let wrapped { return wrapped.capabilities }
        let all =
            wrapped?.capabilities ?? TransportCapabilities(rawValue: .max).subtracting(.trailers)
        return all.subtracting(.upgrades)
    }

    /// The `provesClient` of the wrapped transport, or false in ``Mode/replay``.
    public var provesClient: Bool { wrapped?.provesClient ?? false }

    /// The `canEndProcess` of the wrapped transport, or false in ``Mode/replay``.
    public var canEndProcess: Bool { wrapped?.canEndProcess ?? false }

    // MARK: Results

    /// The number of requests that were answered from the file.
    public var replayedCount: Int { tape?.replayed ?? 0 }

    /// The number of recorded exchanges.
    public var recordedCount: Int { tape?.recorded ?? 0 }

    /// A report on each unmatched request, with the differences from the nearest exchange.
    public var unmatched: [String] { tape?.unmatched ?? [] }

    /// The exchanges of the file that no request has used.
    public var unused: [String] { tape?.unused ?? [] }

    /// A line for each content of which the file has only the kind, length and hash.
    ///
    /// Such content could not be searched for secrets, for example if the content is malformed or
    /// truncated. A replay returns the placeholder of a withheld response.
    public var withheld: [String] { tape?.withheld ?? [] }

    /// The reasons why exchanges of the file cannot be replayed, such as
    /// `log.entries[3].response.status is missing`.
    ///
    /// A skipped entry remains in the file. The report on a request without a response mentions the
    /// skipped entries.
    public var skipped: [String] { tape?.skipped ?? [] }

    /// Throws if a request had no recorded response, if an exchange was never used, or if a
    /// recording could not be written.
    ///
    /// Call this method at the end of a test to find failures that the stack hides.
    public func verify() throws {
        try tape?.checkWriting()
        guard mode == .replay else { return }
        let complaints = unmatched + unused.map { "\($0) was never replayed" }
        if complaints.isEmpty { return }
        throw ClientError(.unsupported, complaints.joined(separator: "; "))
    }

    /// Writes the file in the recording modes, even if there is no new recording.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/download`` if the file cannot be written.
    public func save() throws {
        if mode == .record || mode == .recordMissing { try tape?.save(always: true) }
    }

    // MARK: Sending

    /// Responds to a request from the file, or sends and records the request.
    ///
    /// In ``Mode/replay``, a request without a recording fails with
    /// ``/TurnpikeCore/ClientError/Code/unsupported`` and the difference from the nearest exchange.
    public func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        if isShutDown.load(ordering: .acquiring) {
            throw ClientError(.cancelled, "the transport was shut down")
        }
        guard let tape else { return try await sendThrough(request, context) }
        try tape.checkWriting()
        var request = request
        if mode == .record, !request.body.canOpenAgain {
            let sent = ContentCollector(limit: tape.options.maxBytes)
            request.body = sent.recording(request.body)
            return try await record(request, { sent.content }, nil, tape, context)
        }
        let content = try await content(of: &request, tape.options)
        if mode == .record { return try await record(request, { content }, nil, tape, context) }
        tape.redactor.learn(request, content: content)
        try tape.redactor.checkRoom()
        let asked = RecordedRequest(
            method: request.method, url: tape.redactor.url(request.url.absoluteString),
            headers: tape.redactor.headers(request.headers),
            content: content.map {
                tape.redactor.content($0, headers: request.headers).content
            },
            matching: tape.options.matching)
        guard let asked else { throw ClientError(.invalidRequest, "the URL cannot be parsed") }
        switch tape.find(asked, at: context.timeSource.date) {
        case .entry(let entry): return try await play(entry, request, context)
        case .missing(let report, let expired):
            if mode == .replay { throw ClientError(.unsupported, report) }
            return try await record(request, { content }, expired, tape, context)
        }
    }

    /// Makes later sends fail, and shuts down the wrapped transport.
    public func shutdown() async {
        isShutDown.store(true, ordering: .releasing)
        await wrapped?.shutdown()
    }

    private func sendThrough(_ request: Request, _ context: Context) async throws -> Response {
        guard let wrapped else { throw ClientError(.unsupported, "a replay sends no requests") }
        return try await wrapped.send(request, context: context)
    }

    private func play(
        _ entry: HAREntry, _ request: Request, _ context: Context
    ) async throws -> Response {
        switch entry.answer {
        case .none(let reason):
            throw ClientError(
                .connection,
                "the recording of \(entry.request?.summary ?? "the request") cannot be played: \(reason)",
                transfer: .init(.sending))
        case .response(let answer, let version):
            var response = try await answer.response(to: request, in: context)
            if let version {
                response.head = ResponseHead(
                    status: response.status, headers: response.headers, url: response.url,
                    version: version)
            }
            return response
        }
    }

    // Returns the content if the content can be read before the send. The content replaces a
    // one-shot stream.
    private func content(
        of request: inout Request, _ options: CassetteOptions
    ) async throws -> Data? {
        if request.headers.contains(.contentEncoding), options.redaction != nil { return nil }
        if let data = request.body.inMemory {
            if data.count > options.maxBytes { throw ContentCollector.tooLarge(options.maxBytes) }
            return data
        }
        if mode == .recordMissing, request.body.isLive, !request.body.canOpenAgain {
            throw ClientError(
                .unsupported,
                "a live body that can be opened only once cannot be compared before it is sent;"
                    + " set the mode of the cassette to \"record\"")
        }
        let collector = ContentCollector(limit: options.maxBytes)
        let reader = try request.body.open()
        while let chunk = try await reader.next() { try collector.add(chunk) }
        let data = collector.content ?? Data()
        if !request.body.canOpenAgain {
            request.body = .data(data, type: request.body.contentType)
                .followed(by: reader.trailers)
        }
        return data
    }

    private func record(
        _ request: Request, _ sent: @escaping @Sendable () -> Data?, _ expired: Int?,
        _ tape: Tape, _ context: Context
    ) async throws -> Response {
        let place = tape.reserve(replacing: expired)
        let timeSource = context.timeSource
        let (date, begin) = (timeSource.date, timeSource.now)
        let response = try await sendThrough(request, context)
        if tape.options.redaction != nil, let coding = response.headers[.contentEncoding],
            coding.lowercased() != "identity"
        {
            response.body.cancel(.drop)
            throw ClientError(
                .unsupported,
                "the response has a Content-Encoding, so it cannot be searched for secrets;"
                    + " leave Accept-Encoding to the transport, or record without redaction",
                response: response.head)
        }
        let headTime = timeSource.now
        let received = ContentCollector(limit: tape.options.maxBytes)
        let (head, body) = (response.head, response.body)
        let (length, encodedLength) = (body.length, body.encodedLength)
        body.onChunk { try received.add($0) }
        body.onEnd { end in
            if case .failed = end.reason { return }
            let isWhole = end.isFinished || length == end.bytes
            let hides = tape.options.redaction != nil && request.headers.contains(.contentEncoding)
            tape.record(
                RecordedExchange(
                    request: request, sent: hides ? nil : sent(), head: head,
                    received: received.content ?? Data(),
                    marks: RecordingMarks(chunks: received.sizes, isPartial: !isWhole),
                    encodedLength: encodedLength ?? end.encodedBytes, started: date,
                    wait: begin.duration(to: headTime),
                    receive: headTime.duration(to: timeSource.now)),
                at: place)
        }
        return response
    }
}

extension CassetteTransport {
    /// The source of a cassette's responses, and the exchanges that the cassette records.
    public enum Mode: String, Sendable, CaseIterable {
        /// Responds only from the file, and fails a request without a recording.
        case replay
        /// Uses each exchange of the file once, and sends and records other requests.
        ///
        /// Entries of another tool stay unchanged, including the secrets in these entries.
        case recordMissing = "record-missing"
        /// Sends and records all requests; the first complete exchange replaces the old file.
        case record
        /// Sends all requests and does not use the file.
        case pass

        /// Returns the mode from an environment variable, as in `CASSETTES=record swift test`.
        /// - Parameters:
        ///   - variable: The name of the variable. Its values are the raw values of the modes.
        ///   - fallback: The mode if the variable is not set or empty.
        /// - Returns: The mode.
        /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` if the value is not a mode.
        public static func fromEnvironment(
            _ variable: String = "CASSETTES", default fallback: Mode = .replay
        ) throws -> Mode {
            try named(ProcessInfo.processInfo.environment[variable] ?? "", variable, fallback)
        }

        static func named(_ name: String, _ variable: String, _ fallback: Mode) throws -> Mode {
            if name.isEmpty { return fallback }
            if let mode = Mode(rawValue: name) { return mode }
            throw ClientError(
                .configuration,
                "\(variable): \"\(Grammar.escaped(name))\" is not a mode of a cassette"
                    + NearMiss.hint(for: name, among: allCases.map(\.rawValue)))
        }
    }
}
