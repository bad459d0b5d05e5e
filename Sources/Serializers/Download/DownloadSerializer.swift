import Foundation
import TurnpikeCore

/// Writes one response of a download into its file.
struct DownloadSerializer: ResponseSerializer {
    let session: DownloadSession
    /// Whether the call is a GET of the whole, so that ranges are the session's to ask for.
    let isPlain: Bool
    /// Whether a range was asked for.
    let isResuming: Bool
    let note: ResumeNote?
    let now: Date

    func serialize(
        _ response: Response, context: SerializationContext
    ) async throws -> DownloadedFile {
        let head = response.head
        switch head.status.code {
        case 206 where isResuming: return try await resume(response)
        case 206 where isPlain:
            response.body.cancel(.drop)
            throw ClientError(
                .download, "a part of the content came though all of it was asked for",
                response: head)
        case 416 where isResuming:
            response.body.cancel(.drop)
            return try session.finishComplete(head)
        // The whole in place of a part. Any other success says something else than either, and must
        // not cost what has come.
        case 200..<300 where !isResuming || head.status == 200 || head.status == 203:
            return try await start(response, context.request)
        case 200..<300:
            response.body.cancel(.drop)
            throw ClientError(
                .download, "a part of the content was asked for, and \(head.status) came",
                response: head)
        default:
            let content = try await response.body.beginning(upTo: 4096)
            throw ClientError(
                .validation, "the download was answered with \(head.status); nothing is saved",
                response: head, responseBody: content)
        }
    }

    /// All of the content, from its first byte.
    private func start(_ response: Response, _ request: Request) async throws -> DownloadedFile {
        let head = response.head
        let name = head.suggestedFilename
        let file = try session.destination.file(for: head, suggestedName: name)
        let total = Self.length(of: response)
        try session.begin(
            in: file.deletingLastPathComponent(), head, of: request, total: total,
            validator: isPlain && head.status == 200 ? head.strongValidator(now: now) : nil, note)
        for try await chunk in response.body { try session.append(chunk, total: total) }
        if let total, session.offset != total { throw Self.incomplete(head) }
        return try session.finish(at: file, head, suggestedName: name)
    }

    /// The rest of the content.
    private func resume(_ response: Response) async throws -> DownloadedFile {
        let head = response.head
        guard let resume = session.resume, let range = range(of: response, resume) else {
            response.body.cancel(.drop)
            throw DownloadSession.StartsOver()
        }
        let name = resume.suggestedName
        let file = try session.destination.file(for: head, suggestedName: name)
        let total = range.total ?? resume.totalBytes
        for try await chunk in response.body {
            // A chunk that reaches beyond its range makes all of them doubtful.
            if session.offset + Int64(chunk.count) > range.end {
                throw DownloadSession.StartsOver()
            }
            try session.append(chunk, total: total)
        }
        // Less than the rest came, by the range's own word or against it: there is more to ask for.
        guard session.offset == range.end, total.map({ $0 == range.end }) ?? true else {
            throw Self.incomplete(head)
        }
        return try session.finish(at: file, head, suggestedName: name)
    }

    /// Where the content of a partial response ends, if it begins where the file does and belongs to
    /// the same whole.
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
        ClientError(.incomplete, "the content ended before all of it had come", response: head)
    }
}

extension ResumeData {
    /// Whether a response says that it is about the same content; nil if it says nothing.
    ///
    /// A server that ignores `If-Range` gives a part of whatever there is now. So a part counts only if
    /// it names the validator of what has come: a tag, which a part must name if the whole has one (RFC
    /// 9110 §15.3.7), or a date where there is no tag.
    func fits(_ head: ResponseHead) -> Bool? {
        let named = head.headers[.eTag] ?? head.headers[.lastModified]
        return named.map { Grammar.areSame($0, validator) }
    }
}

extension ResponseHead {
    // It is framed by itself, and the answer to several ranges (RFC 9110 §14.6).
    fileprivate var isMultipart: Bool {
        headers[.contentType]?.lowercased().hasPrefix("multipart/byteranges") == true
    }
}
