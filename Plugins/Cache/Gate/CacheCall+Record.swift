import Foundation
import Synchronization
import TurnpikeCore

extension CacheCall {
    /// A response whose content is stored as it is read, if it may be, and whether it is.
    func record(
        _ response: Response, _ mark: Recordings.Mark, _ inner: Context
    ) async -> (Response, Bool) {
        let now = date
        let control = CacheControl(response.headers)
        guard Storability.allows(response.head, control),
            let variant = Variant(response.headers, to: request.headers),
            response.body.length ?? 0 <= options.maxContentBytes
        else { return (response, false) }
        var headers = Storability.fields(response.headers, control)
        // RFC 9110 §6.6.1.
        if !headers.contains(.date) { headers[.date] = HTTPDate.format(now) }
        // Without fragment and user information.
        let isPlain = request.url.absoluteString == mark.key.url
        let head = ResponseHead(
            status: response.status, headers: headers,
            url: isPlain ? request.url : URL(string: mark.key.url) ?? request.url,
            version: response.head.version)
        let stored = StoredResponse(
            key: mark.key, variant: variant, head: head, control: control,
            requestTime: mark.requestTime, responseTime: now)
        guard stored.freshness.isUseful else { return (response, false) }
        let writer = await state.attempt(inner) {
            try await state.store.writer(for: stored, length: response.body.length)
        }
        guard let writer else { return (response, false) }
        let recording = Recording(
            writer: writer, mark: mark, maxBytes: options.maxContentBytes, state: state,
            context: inner)
        if response.body.isEmpty {
            await recording.finish(length: 0)
            return (response, true)
        }
        var response = response
        let body = response.body
        response.body = ResponseBody(
            source: RecordedSource(body, recording), length: body.length,
            encodedLength: body.encodedLength)
        return (response, true)
    }
}

/// The storing of one response's content.
final class Recording: Sendable {
    private let writer: any CacheWriter
    private let mark: Recordings.Mark
    private let maxBytes: Int64
    private let state: CacheState
    private let context: Context
    // Nil once it has ended, either way.
    private let count = Mutex<Int64?>(0)

    init(
        writer: any CacheWriter, mark: Recordings.Mark, maxBytes: Int64, state: CacheState,
        context: Context
    ) {
        self.writer = writer
        self.mark = mark
        self.maxBytes = maxBytes
        self.state = state
        self.context = context
    }

    func write(_ chunk: Data) async {
        let fits = count.withLock { count -> Bool? in
            guard let before = count else { return nil }
            count = before + Int64(chunk.count)
            return before + Int64(chunk.count) <= maxBytes
        }
        guard let fits else { return }
        if !fits { return abandon() }
        do {
            try await writer.write(chunk)
        } catch {
            fail(error)
        }
    }

    /// Makes the entry findable, if it has the right length.
    func finish(length: Int64?) async {
        let count = self.count.withLock { count in
            defer { count = nil }
            return count
        }
        guard let count else { return }
        if let length, length != count { return writer.abandon() }
        if mark.isSpoiled { return writer.abandon() }
        do {
            try await writer.commit()
            state.counts.stored(state.store)
            // Changed while it was committed.
            if mark.isSpoiled { try await state.store.remove(mark.key) }
        } catch {
            writer.abandon()
            state.failed(error, context)
        }
    }

    func abandon() {
        let isOpen = count.withLock { count in
            defer { count = nil }
            return count != nil
        }
        if isOpen { writer.abandon() }
    }

    private func fail(_ error: any Error) {
        abandon()
        state.failed(error, context)
    }
}

/// The chunks of another body, each stored before its reader gets it.
// SAFETY: a body has one reader, which asks for one chunk at a time; `cancel` uses the body and the
// recording alone.
private final class RecordedSource: ResponseBodySource, @unchecked Sendable {
    private let body: ResponseBody
    private let recording: Recording
    private var iterator: ResponseBody.AsyncIterator

    init(_ body: ResponseBody, _ recording: Recording) {
        self.body = body
        self.recording = recording
        iterator = body.makeAsyncIterator()
    }

    func next() async throws -> Data? {
        do {
            guard let chunk = try await iterator.next() else {
                await recording.finish(length: body.length)
                return nil
            }
            await recording.write(chunk)
            return chunk
        } catch {
            recording.abandon()
            throw error
        }
    }

    func cancel(_ reason: CancelReason) {
        recording.abandon()
        body.cancel(reason)
    }

    // The reader gets them; they are not stored.
    var trailers: HTTPHeaders { body.trailers }
}
