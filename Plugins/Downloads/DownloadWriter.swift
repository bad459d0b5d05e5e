// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

struct DownloadWriter {
    let session: DownloadSession
    // Whether the call is a GET without a range. If true, the session may request ranges.
    let isPlain: Bool
    /// Whether this exchange requested a range.
    let isResuming: Bool
    let note: ResumeNote?
    let now: Date

    func write(
        _ response: Response, of request: Request, onProgress: (TransferProgress) -> Void
    ) async throws -> DownloadedFile {
        let head = response.head
        switch head.status.code {
        case 206 where isResuming: return try await resume(response, onProgress)
        case 206 where isPlain:
            response.body.cancel(.drop)
            throw ClientError(
                .download, "the server sent a part of the content; the request was for the whole",
                response: head)
        case 416 where isResuming:
            response.body.cancel(.drop)
            return try session.finishComplete(head)
        // 200 and 203 contain the whole content instead of a part. Other 2xx responses have other
        // content, and the received bytes stay.
        case 200..<300 where !isResuming || head.status == 200 || head.status == 203:
            return try await start(response, request, onProgress)
        case 200..<300:
            response.body.cancel(.drop)
            throw ClientError(
                .download, "the server answered the request for a part with \(head.status)",
                response: head)
        default:
            throw ClientError(
                .validation, "the server answered with \(head.status); nothing is saved",
                response: head, responseBody: try await beginning(of: response.body))
        }
    }

    /// Returns the first 4 KiB of an error's content, or fewer bytes if the content breaks off.
    private func beginning(of body: ResponseBody) async throws -> Data {
        var content = Data()
        do {
            for try await chunk in body {
                content.append(chunk.prefix(4096 - content.count))
                if content.count == 4096 { break }
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            // The error about the status is more useful than this error.
        }
        return content
    }

    private func start(
        _ response: Response, _ request: Request, _ onProgress: (TransferProgress) -> Void
    ) async throws -> DownloadedFile {
        let head = response.head
        let name = head.suggestedFilename
        let file = try session.destination.file(for: head, suggestedName: name)
        let total = Self.length(of: response)
        try session.begin(
            in: file.deletingLastPathComponent(), head, of: request, total: total,
            validator: isPlain && head.status == 200 ? head.strongValidator(now: now) : nil, note)
        for try await chunk in response.body {
            onProgress(try session.append(chunk, total: total))
        }
        if let total, session.offset != total { throw Self.incomplete(head) }
        return try session.finish(at: file, head, suggestedName: name)
    }

    private func resume(
        _ response: Response, _ onProgress: (TransferProgress) -> Void
    ) async throws -> DownloadedFile {
        let head = response.head
        guard let resume = session.resume, let range = range(of: response, resume) else {
            response.body.cancel(.drop)
            throw DownloadSession.StartsOver()
        }
        let name = resume.suggestedName
        let file = try session.destination.file(for: head, suggestedName: name)
        let total = range.total ?? resume.totalBytes
        for try await chunk in response.body {
            // A chunk beyond the range means that the whole response is wrong.
            if session.offset + Int64(chunk.count) > range.end {
                throw DownloadSession.StartsOver()
            }
            onProgress(try session.append(chunk, total: total))
        }
        // The range ends early, or the body broke off. A later request can get the missing bytes.
        guard session.offset == range.end, total.map({ $0 == range.end }) ?? true else {
            throw Self.incomplete(head)
        }
        return try session.finish(at: file, head, suggestedName: name)
    }

    /// Returns the end of a partial response that begins at the end of the file and belongs to the
    /// same version, or nil.
    private func range(
        of response: Response, _ resume: ResumeData
    ) -> (end: Int64, total: Int64?)? {
        let head = response.head
        guard let content = head.headers[.contentRange].flatMap(ContentRange.init(parsing:)),
            let range = content.range, range.lowerBound == session.offset
        else { return nil }
        if let total = content.total, let known = resume.totalBytes, total != known { return nil }
        if let coding = head.headers[.contentEncoding], coding.lowercased() != "identity" {
            return nil
        }
        guard resume.fits(head) == true, !head.isMultipart else { return nil }
        let count = range.upperBound - range.lowerBound + 1
        if let length = Self.length(of: response), length != count { return nil }
        return (range.upperBound + 1, content.total)
    }

    private static func length(of response: Response) -> Int64? {
        if let length = response.body.length { return length }
        if response.headers.contains(.contentEncoding) { return nil }
        return response.headers[.contentLength].flatMap { Int64($0) }.flatMap { $0 < 0 ? nil : $0 }
    }

    private static func incomplete(_ head: ResponseHead) -> ClientError {
        ClientError(.incomplete, "the content ended before it was complete", response: head)
    }
}

extension ResumeData {
    /// Whether a response has the same version of the content, or nil without a validator.
    ///
    /// A server that ignores `If-Range` sends a part of the current version. A part is therefore
    /// used only if it contains the validator of the received bytes. The validator is the entity
    /// tag (RFC 9110 §15.3.7) or, without a tag, the date.
    func fits(_ head: ResponseHead) -> Bool? {
        let named = head.headers[.eTag] ?? head.headers[.lastModified]
        return named.map { Grammar.areSame($0, validator) }
    }
}

extension ResponseHead {
    // `multipart/byteranges` answers a request for several ranges (RFC 9110 §14.6).
    fileprivate var isMultipart: Bool {
        headers[.contentType]?.lowercased().hasPrefix("multipart/byteranges") == true
    }
}
