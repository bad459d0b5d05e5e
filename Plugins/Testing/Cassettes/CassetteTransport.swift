public import Foundation
import Synchronization
public import TurnpikeCore

/// Records what goes through a transport, and answers from the recording without one.
///
/// ```swift
/// let cassette = try CassetteTransport(file: file, mode: .fromEnvironment())
/// let client = Client(transport: cassette, stack: .standard)
/// let user = try await client.get("https://api.example.com/users/1").decode(User.self)
/// try cassette.verify()
/// ```
///
/// The file is HAR 1.2: what browsers and proxies export is replayed, and they open what is
/// recorded here. It is written when the content of an answer ends, as a whole and for its owner
/// alone (mode 0600), with the exchanges in the order in which they were sent.
///
/// Secrets do not reach it: they are replaced while it is recorded, and requests are compared in
/// the form without secrets, so that a replay needs no credential. Cookies keep their names, and
/// values of JSON and property lists their kinds. Content of a kind that is read for this (JSON,
/// XML, property lists, forms, multipart, event streams, messages of HTTP) and cannot be read to its
/// end is recorded by its name, length and hash alone (``withheld``); in all other content the
/// secrets are looked for that the messages have shown. A file that would hold more secrets than can
/// be looked for, some thousands, is not written: the calls fail as
/// ``/TurnpikeCore/ClientError/Code/tooLarge``. Several answers to the same request are given in
/// their order.
///
/// What no transport answered is not recorded. Content whose reader left before its end is recorded
/// as far as it came, and fails there when it is replayed. Trailer fields are not recorded, for HAR
/// has no place for them. A request body that can be opened once is collected before it is
/// compared; in ``Mode/record`` it is recorded as it leaves.
///
/// A file belongs to one transport at a time: two that record would replace each other's. A replay reads
/// a file through a link; what records refuses a link in the file's place, for it would write elsewhere.
public final class CassetteTransport: Transport {
    /// The file.
    public let file: URL
    /// What is done with a request.
    public let mode: Mode
    private let tape: Tape?
    private let wrapped: (any Transport)?
    private let isShutDown = Atomic(false)

    /// Creates a transport, and reads its file where the mode needs it.
    /// - Parameters:
    ///   - file: The file; its folder is made when it is written.
    ///   - mode: What is done with a request.
    ///   - transport: What sends; nil makes a `URLSessionTransport` in modes that send.
    ///   - options: How exchanges are recorded and found.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` where the file is missing in
    ///   ``Mode/replay``, or is no HAR file, or could not be written in a mode that records because a
    ///   link or a device has its place; the message names the place. A mistake in one exchange is
    ///   none of the file (``skipped``).
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

    /// Those of the wrapped transport; all but trailers in ``Mode/replay``.
    public var capabilities: TransportCapabilities {
        wrapped?.capabilities ?? TransportCapabilities(rawValue: .max).subtracting(.trailers)
    }

    // MARK: What happened

    /// How many requests were answered from the file.
    public var replayedCount: Int { tape?.replayed ?? 0 }

    /// How many exchanges were recorded.
    public var recordedCount: Int { tape?.recorded ?? 0 }

    /// For each request that the file had no answer to, which it was and what kept it from the
    /// nearest exchange.
    public var unmatched: [String] { tape?.unmatched ?? [] }

    /// The exchanges of the file that were never asked for.
    public var unused: [String] { tape?.unused ?? [] }

    /// The contents, or parts of them, that the file holds by name, length and hash alone; a line
    /// each.
    ///
    /// Nobody could look for secrets in them: JSON that is none, parts that are cut off.
    /// Where the answer itself is withheld, a replay gives the placeholder in its place. The
    /// documentation lists the kinds of content that are read.
    public var withheld: [String] { tape?.withheld ?? [] }

    /// Why exchanges of the file cannot be played, each with the place of the mistake:
    /// `log.entries[3].response.status is missing`.
    ///
    /// The others are. What is skipped stays in the file as it is, and the report on a request
    /// without an answer tells of it.
    public var skipped: [String] { tape?.skipped ?? [] }

    /// Throws where a replay had no answer to a request, or an exchange was never asked for, or a
    /// recording could not be written.
    ///
    /// Called at the end of a test, it finds what a stack swallowed.
    public func verify() throws {
        try tape?.checkWriting()
        guard mode == .replay else { return }
        let complaints = unmatched + unused.map { "\($0) was never asked for" }
        if complaints.isEmpty { return }
        throw ClientError(.unsupported, complaints.joined(separator: "; "))
    }

    /// Writes the file in the modes that record, even where nothing was recorded.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/download`` where it cannot be written.
    public func save() throws {
        if mode == .record || mode == .recordMissing { try tape?.save(always: true) }
    }

    // MARK: Sending

    /// Answers a request from the file, or sends and records it.
    ///
    /// A request that the file has no answer to fails in ``Mode/replay`` as
    /// ``/TurnpikeCore/ClientError/Code/unsupported``, with what kept it from the nearest exchange.
    public func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        if isShutDown.load(ordering: .acquiring) {
            throw ClientError(.cancelled, "the transport was shut down")
        }
        guard let tape else { return try await sendThrough(request, context) }
        try tape.checkWriting()
        var request = request
        request.describeBody()
        if mode == .record, !request.body.canOpenAgain {
            let sent = ContentCollector(limit: tape.options.maxBytes)
            request.body = sent.recording(request.body)
            return try await record(request, { sent.content }, nil, tape, context)
        }
        let content = try await content(of: &request, tape.options)
        if mode == .record { return try await record(request, { content }, nil, tape, context) }
        tape.redactor.learn(from: request, content: content)
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

    /// Makes later sends fail, and shuts the wrapped transport down.
    public func shutdown() async {
        isShutDown.store(true, ordering: .releasing)
        await wrapped?.shutdown()
    }

    private func sendThrough(_ request: Request, _ context: Context) async throws -> Response {
        guard let wrapped else { throw ClientError(.unsupported, "a replay sends nothing") }
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

    // What is sent, where it can be told without sending it. A stream that can be opened once is
    // used up by that, and replaced by what it held.
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
                "a live body that can be opened once cannot be compared before it is sent; record"
                    + " it with the mode record")
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
                "the response is coded (Content-Encoding), so nobody could look for secrets in it;"
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
                    encodedLength: encodedLength, started: date,
                    wait: begin.duration(to: headTime),
                    receive: headTime.duration(to: timeSource.now)),
                at: place)
        }
        return response
    }
}
