// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport

/// The exchanges of one upload.
struct UploadSession {
    private enum Step {
        /// Creates the upload resource.
        case create
        /// Asks how many bytes the server has.
        case ask
        /// Sends the next part.
        case send(from: Int64)
        case finished(Response)
    }

    /// Thrown if the upload resource is gone: the upload starts anew, once.
    private struct Lost: Error {
        let reason: ClientError

        init(_ reason: String, _ head: ResponseHead) {
            self.reason = ClientError(.protocol, reason, response: head)
        }
    }

    private let call: Call
    private let options: ResumableUploadOptions
    private let onProgress: @Sendable (TransferProgress) -> Void
    private var dialect: ResumableUploadOptions.Dialect { options.dialect }

    private let body: RequestBody
    private let length: Int64
    /// The files of the content as they were when the call began.
    private let files: [(path: String, state: FileState)]
    private let resource: String
    private let note: UploadNote?

    /// The origin to which the credentials of the call belong.
    private var origin: Origin?
    /// The upload resource; nil until it exists.
    private var url: TargetURI?
    private var sent = SentBytes()
    private var limits = UploadLimits()
    /// The most bytes of a part, after the server has refused a larger one.
    private var partLimit = Int64.max
    /// How many bytes an earlier call had sent; nil until the server has said it.
    private var resumedFrom: Int64? = 0
    /// A response that says that the upload is over, if the response to the content was lost.
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
                .unsupported,
                "found a stream; a resumable upload needs data or files, which are read from any byte"
            )
        }
        self.length = length
        files = try segments.compactMap { segment in
            guard case .file(let path, _) = segment else { return nil }
            return (path, try FileState(path))
        }
        origin = call.request.origin
        call.request.body = .empty
        self.call = call
        self.options = options
        self.onProgress = onProgress
        guard options.keepsNote, origin != nil, segments.count == 1,
            case .file(let path, let range) = segments[0]
        else {
            resource = ""
            note = nil
            return
        }
        let target = call.request.targetURI.absoluteForm
        let identity = "\(options.dialect) \(call.request.method) \(range) \(path)\n\(target)"
        resource = SHA256.digest(of: Data(identity.utf8)).hexadecimal
        let folder = options.notesFolder ?? URL(filePath: path).deletingLastPathComponent()
        note = try UploadNote(resource, in: folder.path(percentEncoded: false))
    }

    /// Sends the content, in as many exchanges as it takes.
    mutating func run() async throws -> FinishedUpload {
        var step = try await takeUp()
        var failures = 0
        var most: Int64 = 0
        var isAnew = false
        while true {
            do {
                switch step {
                case .create: step = try await create()
                case .ask: step = try await ask()
                case .send(let offset):
                    onProgress(TransferProgress(bytesSent: offset, totalToSend: length))
                    if offset > most { (most, failures) = (offset, 0) }
                    step = try await send(from: offset)
                case .finished(let response):
                    note?.remove()
                    onProgress(TransferProgress(bytesSent: length, totalToSend: length))
                    return FinishedUpload(
                        response: response, url: url?.url ?? response.url, bytes: length,
                        resumedFrom: resumedFrom ?? 0)
                }
            } catch let lost as Lost {
                if isAnew { throw lost.reason }
                (isAnew, most, resumedFrom) = (true, 0, 0)
                step = .create
            } catch let error as ClientError where error.isPassing {
                if case .create = step { throw error }
                failures += 1
                let now = call.timeSource.date
                let wish =
                    error.retryAfter ?? error.response?.headers.retryAfter(at: now) ?? .zero
                guard failures <= options.resumes, wish <= .seconds(60) else { throw error }
                let backoff = min(.milliseconds(500) * (1 << min(failures - 1, 6)), .seconds(30))
                try await call.wait(for: max(backoff, wish))
                step = .ask
            }
        }
    }

    // MARK: Steps

    /// Finds the upload of an earlier call.
    private mutating func takeUp() async throws -> Step {
        guard let content = note?.read(resource), content.file == files[0].state,
            let url = TargetURI(reference: content.url), let part = body.part(0..<content.sent),
            content.expires ?? .max > Int64(call.timeSource.date.timeIntervalSince1970)
        else { return .create }
        let hash = try await part.read(into: SHA256()) { $0.update($1) }
        guard hash.finalize().hexadecimal == content.sha256 else { return .create }
        self.url = url
        sent = SentBytes(note, content, hash)
        resumedFrom = nil
        return .ask
    }

    /// Creates the upload resource by a request without content.
    private mutating func create() async throws -> Step {
        note?.clear()
        var creation = call
        for field in dialect.creation(of: length) {
            creation.request.headers[field.name] = field.value
        }
        // An upload resource that nobody uses is harmless.
        if call.request.options[RetryableOption.self] == nil { creation = creation.retryable() }
        url = nil
        let answer: UploadAnswer
        do {
            answer = try await self.answer(to: creation)
            let isDone = answer.head.status.kind == .successful
            if isDone { url = try location(answer) }
            try await read(answer.head)
            if !isDone { throw answer.failure }
        } catch {
            note?.remove()
            throw error
        }
        if let note, let url {
            let content = UploadNote.Content(
                resource: resource, file: files[0].state, url: url.text,
                expires: limits.expires.map { Int64($0.timeIntervalSince1970) })
            try note.write(content)
            sent = SentBytes(note, content)
        } else {
            sent = SentBytes()
        }
        if let response = answer.response, dialect == .tus && length == 0 {
            return .finished(response)
        }
        return .send(from: 0)
    }

    private mutating func location(_ answer: UploadAnswer) throws -> TargetURI {
        let head = answer.head
        let locations = Set(head.headers.values(of: .location))
        guard locations.count == 1, let location = locations.first,
            let url = TargetURI(reference: location, relativeTo: TargetURI(head.url)),
            let target = url.origin
        else {
            throw ClientError(
                .unsupported,
                "the server created no upload resource; it got the request without its content",
                response: head)
        }
        // If a gate has resolved the target, the first exchange tells its origin.
        origin = origin ?? Origin(answer.response?.hops.first?.url ?? head.url)
        if origin?.scheme == "https", target.scheme == "http" {
            throw ClientError(
                .redirect, "the upload resource is not protected by TLS, but the request was",
                response: head)
        }
        return url.withoutUserInformation
    }

    private mutating func ask() async throws -> Step {
        var fields = dialect.version
        fields[.cacheControl] = "no-store"
        let answer = try await answer(to: request(.head, fields))
        let head = answer.head
        try checkStatus(answer)
        try await read(head)
        guard let offset = head.size("Upload-Offset") else {
            throw ClientError(
                .protocol, "the server does not say how many bytes it has", response: head)
        }
        if let other = head.size("Upload-Length"), other != length {
            throw Lost("the server expects \(other) bytes, not \(length)", head)
        }
        resumedFrom = resumedFrom ?? offset
        let step = try next(offset, head)
        guard dialect.isOver(head, length: length), let response = answer.response else {
            return step
        }
        if offset < length {
            note?.remove()
            throw ClientError(
                .validation, "the server ended the upload after \(offset) of \(length) bytes",
                response: head)
        }
        if dialect == .tus { return .finished(response) }
        // The server may repeat the response to the content.
        over = response
        return step
    }

    /// Sends a part.
    private mutating func send(from offset: Int64) async throws -> Step {
        let wanted = min(partLimit, options.partBytes ?? .max)
        let end = offset + min(limits.part(wanted: wanted), length - offset)
        for file in files where try FileState(file.path) != file.state {
            throw ClientError(.upload, "the file to send was changed; start the upload anew")
        }
        guard let part = body.part(offset..<end) else {
            throw ClientError(.upload, "the file to send was shortened")
        }
        var call = request(.patch, dialect.part(at: offset, isLast: end == length))
        if end > offset {
            call.request.body = .stream(length: end - offset, replayable: true) {
                [sent, onProgress, length] in
                SentChunks(part: part, offset: offset, sent: sent) { end in
                    onProgress(TransferProgress(bytesSent: end, totalToSend: length))
                }
            }
        }
        // A gate does not repeat a part, because the server may have the beginning of it.
        let answer = try await answer(to: call.retryable(false))
        let head = answer.head
        if dialect.isOver(head, length: length) {
            if let response = answer.response { return .finished(response) }
            note?.remove()
            throw answer.failure
        }
        if let over, head.status.kind != .successful { return .finished(over) }
        try await read(head)
        switch head.status.code {
        case 409: throw answer.passing("the server has another offset")
        case 413 where end - offset > max(limits.minAppend ?? 0, 65_536):
            partLimit = (end - offset) / 2
            throw answer.passing("the server takes no part of \(end - offset) bytes")
        default: try checkStatus(answer)
        }
        let reached = head.size("Upload-Offset") ?? end
        if reached <= offset { throw answer.passing("the server accepts parts, but gets no bytes") }
        return try next(reached, head)
    }

    /// The step after the server has said how many bytes it has.
    private func next(_ offset: Int64, _ head: ResponseHead) throws -> Step {
        if offset > length {
            note?.remove()
            throw ClientError(
                .protocol, "the server has \(offset) bytes of a content of \(length)",
                response: head)
        }
        // Bytes that no call has sent belong to something else.
        if offset > sent.count {
            throw Lost("the server has bytes that were not sent to it", head)
        }
        return .send(from: offset)
    }

    // MARK: Exchanges

    /// Reads the limits, and gives the upload up if they exclude the content.
    private mutating func read(_ head: ResponseHead) async throws {
        limits.read(head, now: call.timeSource.date)
        do {
            try limits.check(length, head)
        } catch {
            note?.remove()
            if url != nil { _ = try? await answer(to: request(.delete, dialect.version)) }
            throw error
        }
    }

    /// - Throws: ``Lost`` if the resource is gone; the failure of any other status but success.
    private func checkStatus(_ answer: UploadAnswer) throws {
        switch answer.head.status.code {
        case 200..<300: return
        case 404, 410: throw Lost("the upload resource is gone", answer.head)
        case 408, 423, 425, 429, 500...: throw answer.passing("the server cannot go on now")
        default: throw answer.failure
        }
    }

    /// Makes a call to the upload resource.
    ///
    /// The fields of the call that describe its content are left out. A resource of another origin
    /// gets no credentials, as after a redirect.
    private func request(_ method: HTTPMethod, _ fields: HTTPHeaders) -> Call {
        var call = self.call
        call.request.method = method
        if let url { call.request.targetURI = url }
        let isOwn = url?.origin.flatMap { origin?.isSameOrUpgraded(by: $0) } ?? false
        call.request.headers.removeAll { $0.name.isOfCreation || !isOwn && !$0.name.mayCross }
        for field in fields { call.request.headers[field.name] = field.value }
        if url?.origin != origin { call.request.options.connectTarget = nil }
        return isOwn ? call : call.option(RedirectTrail.self, origin.map { [$0] } ?? [])
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
