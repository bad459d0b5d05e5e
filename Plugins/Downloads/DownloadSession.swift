// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The exchanges of one download, with the partial file and the data to resume the download.
///
/// Only one task at a time may call ``run(_:onProgress:)``.
final class DownloadSession: Sendable {
    private struct State {
        var partial: PartialFile?
        var offset: Int64 = 0
        var resumedFrom: Int64 = 0
        var resume: ResumeData?
        // Whether the received bytes stay after a failed run, for a later run.
        var isKept = false
    }

    // The error of a response that does not match the received bytes. The download starts over.
    struct StartsOver: Error {}

    let destination: DownloadDestination
    private let options: DownloadOptions
    private let state = Mutex(State())

    private static let startLimit = 3

    init(_ destination: DownloadDestination, _ options: DownloadOptions) {
        self.destination = destination
        self.options = options
    }

    func keep() { state.withLock { $0.isKept = true } }

    func release() { state.withLock { $0.isKept = false } }

    /// The data for a later download, or nil if the download cannot be resumed.
    var resumeData: ResumeData? {
        state.withLock { $0.partial != nil && $0.offset > 0 ? $0.resume : nil }
    }

    /// Closes the file for a later download, or removes the file if no resume is possible.
    func letGo() -> ResumeData? {
        let data = resumeData
        state.withLock { state in
            if data == nil { state.partial?.unlink() }
            state.partial = nil
        }
        return data
    }

    /// Sends the call repeatedly until the file is complete, within the limit of the options.
    func run(
        _ call: Call, onProgress: (TransferProgress) -> Void
    ) async throws -> DownloadedFile {
        try destination.check()
        var call = call
        // A content coding is refused, because ranges count bytes of the stored representation.
        call.request.headers.setIfAbsent(.acceptEncoding, "identity")
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
                let file = try await exchange(call, isPlain, note, onProgress)
                note?.remove()
                return file
            } catch is StartsOver {
                startsLeft -= 1
                try startOver(note)
                if startsLeft == 0 {
                    throw end(
                        ClientError(
                            .download,
                            "the server's partial responses do not name their version, or contradict"
                                + " each other; nothing is saved"
                        ),
                        note)
                }
            } catch {
                let now = state.withLock { $0.offset }
                guard resumesLeft > 0, isPlain, (error as? ClientError)?.isPassing == true,
                    resumeData != nil
                else {
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
        _ call: Call, _ isPlain: Bool, _ note: ResumeNote?,
        _ onProgress: (TransferProgress) -> Void
    ) async throws -> DownloadedFile {
        var call = call
        let (offset, validator) = state.withLock { ($0.offset, $0.resume?.validator) }
        var isResuming = false
        if isPlain, offset > 0, let validator {
            call = call.header(.range, "bytes=\(offset)-").header(.ifRange, validator)
            isResuming = true
        }
        do {
            let writer = DownloadWriter(
                session: self, isPlain: isPlain, isResuming: isResuming, note: note,
                now: call.timeSource.date)
            return try await call.read { response, context in
                try await writer.write(response, of: context.request, onProgress: onProgress)
            }
        } catch let error as ClientError
            where isResuming && error.code == .validation && error.response?.status == 416
        {
            // A gate that validates the status has thrown the 416 response as an error.
            guard let head = error.response else { throw error }
            return try finishComplete(head)
        }
    }

    // MARK: The file

    private func takeUp(_ given: ResumeData?, _ note: ResumeNote?) {
        state.withLock { state in
            if state.partial != nil { return }
            guard let data = given ?? note?.read(),
                let partial = PartialFile.reopen(data.partialFile)
            else { return }
            let size = partial.size
            // A file that is larger than the whole content is wrong.
            guard size > 0, size <= data.totalBytes ?? .max else { return partial.unlink() }
            state.partial = partial
            state.offset = size
            state.resumedFrom = size
            state.resume = data
        }
    }

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
            // The note is written before the first byte, because the process may end at any time.
            try note?.write(data)
        }
    }

    func append(_ chunk: Data, total: Int64?) throws -> TransferProgress {
        let offset = try state.withLock { state in
            try state.partial?.write(chunk, at: state.offset)
            state.offset += Int64(chunk.count)
            return state.offset
        }
        return TransferProgress(bytesReceived: offset, totalToReceive: total)
    }

    var offset: Int64 { state.withLock { $0.offset } }
    var resume: ResumeData? { state.withLock { $0.resume } }

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

    /// After a 416 response, finishes a complete download or starts over.
    ///
    /// A 416 response need not contain a validator. Another validator means another version.
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

    private func end(_ error: any Error, _ note: ResumeNote?) -> any Error {
        let isKept = state.withLock { $0.isKept } || options.keepsPartialFile
        if isKept, let resumeData {
            return (error as? ClientError)?.attaching(resumeData) ?? error
        }
        if !state.withLock({ $0.isKept }) { discard(note) }
        return error
    }

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
}
