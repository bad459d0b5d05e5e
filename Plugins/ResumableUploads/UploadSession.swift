// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport

struct UploadSession {
    private enum Step {
        case create
        case ask
        case send(from: Int64)
        case finished(Response)
    }

    private let call: Call
    private let options: ResumableUploadOptions
    private let onProgress: @Sendable (Int64) -> Void
    private var dialect: ResumableUploadOptions.Dialect { options.dialect }
    private let body: RequestBody
    private let length: Int64
    // The states of the files by the paths behind their links.
    private let files: [String: [Int64]]
    private let note: UploadNote?
    private var origin: Origin?
    private var url: TargetURI?
    private var sent: SentBytes
    private var limits = UploadLimits()
    // After a 413, half of the size of the refused part.
    private var partLimit = Int64.max
    // Nil until the server has said how many bytes an earlier call had sent.
    private var resumedFrom: Int64? = 0
    // The server has said that the upload is over, but the response to the content was lost.
    private var over: Response?

    init(
        _ call: Call, _ options: ResumableUploadOptions,
        _ onProgress: @escaping @Sendable (TransferProgress) -> Void
    ) throws {
        var call = call
        call.request.describeBody()
        call.request.moveUserInformation()
        body = call.request.body
        guard let segments = try body.segments(), let length = body.length else {
            throw ClientError(
                .unsupported, "found a stream; a resumable upload needs data or files")
        }
        self.length = length
        files = try Self.files(of: segments)
        origin = call.request.origin
        sent = try SentBytes()
        call.request.body = .empty
        self.call = call
        self.options = options
        self.onProgress = { onProgress(TransferProgress(bytesSent: $0, totalToSend: length)) }
        if options.keepsNote, origin != nil, segments.count == 1,
            case .file(let path, let range) = segments[0]
        {
            let target = call.request.targetURI.absoluteForm
            note = try UploadNote(
                for: "\(options.dialect) \(call.request.method) \(range) \(path)\n\(target)",
                in: options.notesFolder ?? URL(filePath: path).deletingLastPathComponent())
        } else {
            note = nil
        }
    }

    mutating func run() async throws -> FinishedUpload {
        defer { note?.close() }
        var step = try await takeUp()
        var (failures, most, isAnew) = (0, Int64(0), false)
        while true {
            let limit = partLimit
            do {
                switch step {
                case .create: step = try await create()
                case .ask: step = try await ask()
                case .send(let offset):
                    onProgress(offset)
                    if offset > most { (most, failures) = (offset, 0) }
                    step = try await send(from: offset)
                case .finished(let response):
                    note?.remove()
                    onProgress(length)
                    return FinishedUpload(
                        response: response, url: url?.url ?? response.url, bytes: length,
                        resumedFrom: resumedFrom ?? 0)
                }
            } catch let error as ClientError
                where error.code == .uploadLost && url != nil && !isAnew
            {
                (isAnew, most, resumedFrom) = (true, 0, 0)
                step = .create
            } catch let error as ClientError where error.isPassing && url != nil {
                // The number of smaller parts is limited by the size of the smallest part.
                if partLimit == limit { failures += 1 }
                let wish =
                    error.retryAfter
                    ?? error.response?.headers.retryAfter(at: call.timeSource.date) ?? .zero
                guard failures <= options.resumes, wish <= .seconds(60) else {
                    guard let over else { throw error }
                    step = .finished(over)
                    continue
                }
                let backoff = min(.milliseconds(500) * (1 << min(failures - 1, 6)), .seconds(30))
                try await call.wait(for: max(partLimit < limit ? .zero : backoff, wish))
                step = .ask
            } catch {
                // Without an upload resource, a later call has no upload to continue.
                if url == nil { note?.remove() }
                throw error
            }
        }
    }

    private mutating func takeUp() async throws -> Step {
        guard let content = note?.read(), content.file == files.values.first,
            let url = TargetURI(reference: content.url), let part = body.part(0..<content.sent),
            content.expires ?? .max > Int64(call.timeSource.date.timeIntervalSince1970)
        else { return .create }
        let hash = try await part.read(into: SHA256()) { $0.update($1) }
        guard hash.finalize().hexadecimal == content.sha256 else { return .create }
        self.url = url
        sent = try SentBytes(note, content, hash)
        resumedFrom = nil
        return .ask
    }

    private mutating func create() async throws -> Step {
        note?.clear()
        var creation = call
        creation.request.set(
            ["Upload-Length": "\(length)", "Upload-Complete": "?0"], for: dialect)
        // The creation may be retried, because an unused upload resource is harmless.
        if call.request.options[RetryableOption.self] == nil { creation = creation.retryable() }
        (url, limits, over) = (nil, UploadLimits(), nil)
        let answer = try await answer(to: creation)
        let isDone = answer.head.status.isSuccessful
        if isDone { url = try location(answer) }
        try await read(answer.head)
        if !isDone { throw answer.failure }
        let content = UploadNote.Content(
            file: files.values.first ?? [], url: url?.text ?? "",
            expires: limits.expires.map { Int64($0.timeIntervalSince1970) })
        sent = try SentBytes(note, content)
        let isEnd = dialect == .tus && length == 0
        return isEnd ? answer.response.map { .finished($0) } ?? .send(from: 0) : .send(from: 0)
    }

    private mutating func location(_ answer: UploadAnswer) throws -> TargetURI {
        let head = answer.head
        let locations = Set(head.headers.values(of: .location))
        guard locations.count == 1, let location = locations.first,
            let url = TargetURI(reference: location, relativeTo: TargetURI(head.url)),
            let target = url.origin
        else {
            throw ClientError(.unsupported, "the server created no upload resource", response: head)
        }
        // If a gate has resolved the target, the first exchange shows the origin of the target.
        origin = origin ?? Origin(answer.response?.hops.first?.url ?? head.url)
        if origin?.scheme == "https", target.scheme == "http" {
            throw ClientError(.redirect, "the upload resource does not use TLS", response: head)
        }
        let visited = (answer.response?.hops.map(\.url) ?? []) + [head.url]
        if isOwn(target), !visited.allSatisfy({ isOwn(Origin($0)) }) {
            throw ClientError(
                .redirect, "another origin has chosen the upload resource", response: head)
        }
        return url.withoutUserInformation
    }

    private mutating func ask() async throws -> Step {
        let answer = try await answer(to: request(.head, [.cacheControl: "no-store"]))
        let head = answer.head
        if [404, 410].contains(head.status.code), sent.count == length {
            if let over { return .finished(over) }
            url = nil
            throw ClientError(
                .uploadLost, "the upload resource is gone, perhaps because the upload is complete",
                response: head)
        }
        try checkStatus(answer)
        try await read(head)
        guard let offset = head.size("Upload-Offset") else {
            throw ClientError(
                .protocol, "the server does not say how many bytes it has", response: head)
        }
        if let other = head.size("Upload-Length"), other != length {
            throw ClientError(.uploadLost, "the server expects \(other) bytes", response: head)
        }
        resumedFrom = resumedFrom ?? offset
        let step = try next(offset, head)
        over = dialect.isOver(head, length: length) ? answer.response : nil
        guard let over else { return step }
        if offset < length { throw endedEarly(at: offset, head) }
        // In the draft, the server may repeat the response to the content.
        return dialect == .tus ? .finished(over) : step
    }

    private mutating func send(from offset: Int64) async throws -> Step {
        let wanted = min(partLimit, options.partBytes ?? .max)
        let end = offset + min(limits.part(wanted: wanted), length - offset)
        let part = try part(offset..<end)
        var call = request(
            .patch,
            [
                "Upload-Offset": "\(offset)", "Upload-Complete": end == length ? "?1" : "?0",
                .contentType: dialect.partType,
            ])
        if end > offset {
            let chunks = SentChunks(part: part, offset: offset, sent: sent, onChunk: onProgress)
            call.request.body = .stream(length: end - offset, replayable: true) { chunks }
        }
        // A gate must not repeat a part, because the server may have a beginning of the part.
        let answer = try await answer(to: call.retryable(false))
        let head = answer.head
        if dialect.isOver(head, length: length) {
            if end < length, head.status.isSuccessful { throw endedEarly(at: end, head) }
            _ = try self.part(offset..<end)
            if let response = answer.response { return .finished(response) }
            url = nil
            throw answer.failure
        }
        if let over { return .finished(over) }
        try await read(head)
        switch head.status.code {
        case 409: throw answer.passing("the server is at another offset of the content")
        case 413 where end - offset > max(limits.minAppend ?? 0, 65_536):
            partLimit = (end - offset) / 2
            throw answer.passing("the server accepts no part of \(end - offset) bytes")
        default: try checkStatus(answer)
        }
        let reached = head.size("Upload-Offset") ?? end
        if reached <= offset { throw answer.passing("the server accepts parts but stores no byte") }
        return try next(reached, head)
    }

    private mutating func endedEarly(at offset: Int64, _ head: ResponseHead) -> ClientError {
        url = nil
        return ClientError(
            .validation, "the server ended the upload at byte \(offset)", response: head)
    }

    private static func files(of segments: [RequestBody.Segment]) throws -> [String: [Int64]] {
        try segments.reduce(into: [:]) { files, segment in
            if case .file(let path, _) = segment { files[path] = try UploadNote.state(of: path) }
        }
    }

    // Returns a part of the content, unless a file has changed.
    private func part(_ range: Range<Int64>) throws -> RequestBody {
        guard try Self.files(of: body.segments() ?? []) == files, let part = body.part(range) else {
            throw ClientError(.upload, "the file to send was changed; start the upload anew")
        }
        return part
    }

    private mutating func next(_ offset: Int64, _ head: ResponseHead) throws -> Step {
        if offset > length {
            url = nil
            throw ClientError(.protocol, "the server has bytes beyond the content", response: head)
        }
        // Bytes of the server that this upload has not sent belong to another file.
        if offset > sent.count {
            throw ClientError(.uploadLost, "the server has bytes that nobody sent", response: head)
        }
        return .send(from: offset)
    }

    /// Reads the limits; if the limits exclude the content, deletes the upload resource and throws.
    private mutating func read(_ head: ResponseHead) async throws {
        limits.read(head, now: call.timeSource.date)
        do {
            try limits.check(length, head)
        } catch {
            if url != nil { _ = try? await answer(to: request(.delete, [:])) }
            url = nil
            throw error
        }
    }

    private func checkStatus(_ answer: UploadAnswer) throws {
        switch answer.head.status.code {
        case 200..<300: return
        case 404, 410:
            throw ClientError(.uploadLost, "the upload resource is gone", response: answer.head)
        case 408, 423, 425, 429, 500...: throw answer.passing("the server cannot continue now")
        default: throw answer.failure
        }
    }

    /// Creates a call to the upload resource, without the fields that describe the whole content.
    ///
    /// A resource of another origin gets no credentials, as after a redirect.
    private func request(_ method: HTTPMethod, _ fields: HTTPHeaders) -> Call {
        var call = self.call
        call.request.method = method
        if let url { call.request.targetURI = url }
        let isOwn = isOwn(url?.origin)
        call.request.headers.removeAll { !$0.name.mayGo(toOwnOrigin: isOwn) }
        call.request.set(fields, for: dialect)
        if url?.origin != origin { call.request.options.connectTarget = nil }
        return isOwn ? call : call.option(RedirectTrail.self, origin.map { [$0] } ?? [])
    }

    private func isOwn(_ other: Origin?) -> Bool {
        other.flatMap { origin?.isSameOrUpgraded(by: $0) } ?? false
    }

    private func answer(to call: Call) async throws -> UploadAnswer {
        do {
            let response = try await call.response()
            return UploadAnswer(head: response.head, response: response, error: nil)
        } catch let error as ClientError where error.code == .validation {
            guard let head = error.response else { throw error }
            return UploadAnswer(head: head, response: nil, error: error)
        }
    }
}
