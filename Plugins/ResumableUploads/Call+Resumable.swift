// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

extension Call {
    /// Uploads the content of the request, and continues at the same byte after an interruption.
    ///
    /// ```swift
    /// let upload = try await client.post("videos", body: .file(video)).resumable { progress in
    ///     show(progress.fractionSent)
    /// }
    /// let receipt = try await upload.response.decode(Receipt.self)
    /// ```
    ///
    /// The request is sent without content, and asks the server for an upload resource. The content
    /// then goes to the URL of that resource. Each exchange is a call of its own with all gates of
    /// the client, so a retry and a deadline apply to each of them. If an exchange breaks off, the
    /// server is asked how many bytes it has, and the next exchange sends the rest.
    ///
    /// If the content is one file, a note beside it lets a later call with the same method, URL and
    /// file continue the upload, even after `kill -9`. The length and the modification time of the
    /// file, and the SHA-256 of all bytes that were sent, must be the same. Otherwise the upload
    /// starts anew, so an upload never joins two files.
    ///
    /// If the upload resource has another origin than the request, it gets neither the credentials
    /// of the client nor the header fields that a redirect would drop.
    /// - Parameters:
    ///   - options: The protocol, the note, and the size of the parts.
    ///   - onProgress: Called for each chunk that the transport takes, over the whole content, by
    ///     the task that sends. After an interruption the number of sent bytes may be smaller.
    /// - Returns: The response to the whole content.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if the content is a stream, or the
    ///   server has no resumable uploads; ``/TurnpikeCore/ClientError/Code/tooLarge`` for content
    ///   beyond a limit of the server; ``/TurnpikeCore/ClientError/Code/upload`` if the file was
    ///   changed or the note cannot be written; `CancellationError`; otherwise the error of the last
    ///   exchange.
    @discardableResult
    public func resumable(
        options: ResumableUploadOptions = ResumableUploadOptions(),
        onProgress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> FinishedUpload {
        var session = try UploadSession(self, options, onProgress)
        return try await session.run()
    }
}

/// How an upload is sent and continued.
public struct ResumableUploadOptions: Sendable {
    /// A protocol for resumable uploads.
    public enum Dialect: String, Sendable, Hashable, CaseIterable {
        /// *Resumable Uploads for HTTP* (draft-ietf-httpbis-resumable-upload), interop version 8.
        case draft
        /// The tus protocol, version 1.0.0, with its extension *creation*.
        case tus
    }

    /// The protocol that the server speaks.
    public var dialect = Dialect.draft

    /// Whether a later call may continue the upload.
    ///
    /// The note of mode 0600 is named `.turnpike-….upload`, and has the URL of the upload resource.
    /// It is removed when the upload is complete.
    public var keepsNote = true

    /// The folder of the note; nil is the folder of the file.
    public var notesFolder: URL?

    /// The most bytes that one request sends; nil sends all that the server accepts.
    ///
    /// Smaller parts suit a deadline, or a proxy that limits the content of a request. The minimum
    /// of the server (`min-append-size`) applies nevertheless.
    public var partBytes: Int64?

    /// How many times in a row the upload continues although the server has no more bytes.
    ///
    /// The wait before a continuation starts at half a second and doubles up to 30 s. If the server
    /// sends `Retry-After`, it is at least as long; beyond a minute, the upload fails.
    public var resumes = 5

    /// Creates options.
    public init(
        dialect: Dialect = .draft, keepsNote: Bool = true, notesFolder: URL? = nil,
        partBytes: Int64? = nil, resumes: Int = 5
    ) {
        self.dialect = dialect
        self.keepsNote = keepsNote
        self.notesFolder = notesFolder
        self.partBytes = partBytes
        self.resumes = resumes
    }
}

/// The result of an upload.
public struct FinishedUpload: Sendable {
    /// The response to the whole content; its body is unread.
    ///
    /// If that response was lost and the server does not repeat it, this is the response in which
    /// the server states that the upload is complete.
    public let response: Response
    /// The URL of the upload resource.
    public let url: URL
    /// The size of the content.
    public let bytes: Int64
    /// How many of these bytes an earlier call had sent.
    public let resumedFrom: Int64
}
