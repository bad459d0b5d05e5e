import Foundation
import Synchronization
import TurnpikeCore

/// One download over its exchanges: the file with what has come, and how to go on.
///
/// One task at a time calls ``run(_:)``; another may call it again once that has ended.
final class DownloadSession: Sendable {
    private struct State {
        var partial: PartialFile?
        var offset: Int64 = 0
        var resumedFrom: Int64 = 0
        var resume: ResumeData?
        // Stays when a run fails: a later one goes on.
        var isKept = false
    }

    /// What a response made clear: what has come does not fit, and the download starts over.
    struct StartsOver: Error {}

    let destination: DownloadDestination
    private let options: DownloadOptions
    private let onProgress: @Sendable (TransferProgress) -> Void
    private let state = Mutex(State())

    private static let startLimit = 3

    init(
        _ destination: DownloadDestination, _ options: DownloadOptions,
        onProgress: @escaping @Sendable (TransferProgress) -> Void
    ) {
        self.destination = destination
        self.options = options
        self.onProgress = onProgress
    }

    /// Lets what has come stay when the run fails.
    func keep() { state.withLock { $0.isKept = true } }

    /// Lets what has come go when the run fails, after all.
    func release() { state.withLock { $0.isKept = false } }

    /// What a later download needs; nil where there is nothing to go on from.
    var resumeData: ResumeData? {
        state.withLock { $0.partial != nil && $0.offset > 0 ? $0.resume : nil }
    }

    /// Closes the file, for a later download to take it up; one that none can goes.
    func letGo() -> ResumeData? {
        let data = resumeData
        state.withLock { state in
            if data == nil { state.partial?.unlink() }
            state.partial = nil
        }
        return data
    }

    /// Sends the call, again as often as the options say, until the file is there.
    func run(_ call: Call) async throws -> DownloadedFile {
        try destination.check()
        let call = call.withDownloadHeaders()
        let isPlain = call.request.method == .get && !call.request.headers.contains(.range)
        let note =
            options.keepsPartialFile && isPlain ? ResumeNote(call.request.url, destination) : nil
        if isPlain { takeUp(options.resumeData, note) }
        var resumesLeft = max(options.resumes, 0)
        var startsLeft = Self.startLimit
        var fruitless = 0
        while true {
            let before = state.withLock { $0.offset }
            do {
                let file = try await exchange(call, isPlain, note)
                note?.remove()
                return file
            } catch is StartsOver {
                startsLeft -= 1
                try startOver(note)
                if startsLeft == 0 {
                    throw end(
                        ClientError(
                            .download,
                            "the server's parts do not say which version they are of, or contradict"
                                + " each other; nothing is saved"
                        ),
                        note)
                }
            } catch {
                let now = state.withLock { $0.offset }
                guard resumesLeft > 0, isPlain, Self.isPassing(error), resumeData != nil else {
                    throw end(error, note)
                }
                resumesLeft -= 1
                fruitless = now > before ? 0 : fruitless + 1
                do {
                    try await call.wait(
                        for: min(.milliseconds(500) * (1 << min(fruitless, 6)), .seconds(30)))
                } catch {
                    throw end(error, note)
                }
            }
        }
    }

    private func exchange(
        _ call: Call, _ isPlain: Bool, _ note: ResumeNote?
    ) async throws -> DownloadedFile {
        var call = call
        let (offset, validator) = state.withLock { ($0.offset, $0.resume?.validator) }
        var isResuming = false
        if isPlain, offset > 0, let validator {
            call = call.header(.range, "bytes=\(offset)-").header(.ifRange, validator)
            isResuming = true
        }
        do {
            return try await call.serialize(
                with: DownloadSerializer(
                    session: self, isPlain: isPlain, isResuming: isResuming, note: note,
                    now: call.timeSource.date))
        } catch let error as ClientError
            where isResuming && error.code == .validation && error.response?.status == 416
        {
            // A validator of the stack saw it first.
            guard let head = error.response else { throw error }
            return try finishComplete(head)
        }
    }

    // MARK: The file

    /// Takes up what an earlier call has left.
    private func takeUp(_ given: ResumeData?, _ note: ResumeNote?) {
        state.withLock { state in
            if state.partial != nil { return }
            guard let data = given ?? note?.read(),
                let partial = PartialFile.reopen(data.partialFile)
            else { return }
            let size = partial.size
            // More than the whole cannot be a part of it.
            guard size > 0, size <= data.totalBytes ?? .max else { return partial.unlink() }
            state.partial = partial
            state.offset = size
            state.resumedFrom = size
            state.resume = data
        }
    }

    /// Prepares the file for a response that begins at its first byte.
    func begin(
        in directory: URL, _ head: ResponseHead, of request: Request, total: Int64?,
        validator: String?, _ note: ResumeNote?
    ) throws {
        try state.withLock { state in
            if let partial = state.partial {
                try partial.truncate(to: 0)
            } else {
                state.partial = try PartialFile.create(in: directory)
            }
            state.offset = 0
            state.resumedFrom = 0
            state.resume = nil
            guard let validator, let partial = state.partial else {
                note?.remove()
                return
            }
            let data = ResumeData(
                validator: validator, totalBytes: total, partialFile: partial.url,
                suggestedName: head.suggestedFilename, resource: ResumeData.resource(request.url))
            state.resume = data
            // Before the first byte: the process may end at any.
            try note?.write(data)
        }
    }

    /// Adds a chunk.
    func append(_ chunk: Data, total: Int64?) throws {
        let offset = try state.withLock { state in
            try state.partial?.write(chunk, at: state.offset)
            state.offset += Int64(chunk.count)
            return state.offset
        }
        onProgress(TransferProgress(bytesReceived: offset, totalToReceive: total))
    }

    var offset: Int64 { state.withLock { $0.offset } }
    var resume: ResumeData? { state.withLock { $0.resume } }

    /// Moves the file to its name.
    func finish(
        at url: URL, _ head: ResponseHead, suggestedName: String
    ) throws -> DownloadedFile {
        try state.withLock { state in
            try state.partial?.move(to: url, replacing: destination.replaces)
            state.partial = nil
            return DownloadedFile(
                url: url, suggestedName: suggestedName, bytes: state.offset,
                resumedFrom: state.resumedFrom, head: head)
        }
    }

    /// Ends a download whose range was refused since nothing is missing; else it starts over.
    ///
    /// A refusal need not name a validator; one that names another than that of what has come is about
    /// another version.
    func finishComplete(_ head: ResponseHead) throws -> DownloadedFile {
        guard let resume, resume.totalBytes == offset, resume.fits(head) ?? true,
            let field = head.headers[.contentRange], let range = ContentRange(parsing: field),
            range.range == nil, range.total == offset
        else { throw StartsOver() }
        let file = try destination.file(for: head, suggestedName: resume.suggestedName)
        return try finish(at: file, head, suggestedName: resume.suggestedName)
    }

    private func startOver(_ note: ResumeNote?) throws {
        note?.remove()
        try state.withLock { state in
            try state.partial?.truncate(to: 0)
            state.offset = 0
            state.resumedFrom = 0
            state.resume = nil
        }
    }

    /// Keeps or removes what has come, and says so in the error.
    private func end(_ error: any Error, _ note: ResumeNote?) -> any Error {
        let isKept = state.withLock { $0.isKept } || options.keepsPartialFile
        if isKept, let resumeData {
            return (error as? ClientError)?.attaching(resumeData) ?? error
        }
        if !state.withLock({ $0.isKept }) { discard(note) }
        return error
    }

    /// Removes what has come.
    func discard() { if !options.keepsPartialFile { discard(nil) } }

    private func discard(_ note: ResumeNote?) {
        note?.remove()
        state.withLock { state in
            state.partial?.unlink()
            state.partial = nil
            state.offset = 0
            state.resume = nil
        }
    }

    // What may be gone after a while: the network, a connection that broke.
    private static func isPassing(_ error: any Error) -> Bool {
        (error as? ClientError)?.isPassing ?? false
    }
}

extension Call {
    // Positions count in the bytes as they are stored: no coding.
    fileprivate func withDownloadHeaders() -> Call {
        var copy = self
        copy.request.headers.setIfAbsent(.acceptEncoding, "identity")
        return copy
    }
}
