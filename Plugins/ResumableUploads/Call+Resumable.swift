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
    /// The first request has no content. The server answers with the URL of an upload resource, and
    /// the content goes to that URL. Each exchange is a separate call with all gates of the client.
    /// If the content is one file, a note beside the file lets a later call with the same
    /// method, URL and file continue the upload, even after `kill -9`. If the length, the
    /// modification time or the bytes that were sent have changed, the upload starts anew.
    ///
    /// An upload resource of another origin gets no credentials, as after a redirect.
    /// - Parameters:
    ///   - options: The protocol, the note, and the size of the parts.
    ///   - onProgress: Called for each chunk that the transport takes. The progress refers to the
    ///     whole content. After an interruption the number of sent bytes may be smaller.
    /// - Returns: The response to the whole content.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` for a stream, or a server without
    ///   resumable uploads; ``/TurnpikeCore/ClientError/Code/tooLarge`` beyond a limit of the
    ///   server; ``/TurnpikeCore/ClientError/Code/upload`` if the file was changed or the note
    ///   cannot be written; otherwise the error of the last exchange, or `CancellationError`.
    @discardableResult
    public func resumable(
        options: ResumableUploadOptions = ResumableUploadOptions(),
        onProgress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> FinishedUpload {
        var session = try UploadSession(self, options, onProgress)
        return try await session.run()
    }
}

/// The rules for sending and continuing an upload.
public struct ResumableUploadOptions: Sendable {
    /// The protocols for resumable uploads.
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
    /// The file `.turnpike-….upload` keeps the URL of the upload resource, with mode 0600. A
    /// complete upload removes the file.
    public var keepsNote = true

    /// The folder for the note; nil is the folder of the uploaded file.
    public var notesFolder: URL?

    /// The maximum number of bytes in one request; nil for no limit except the server's limit.
    public var partBytes: Int64?

    /// How many times in a row the upload continues although the server has no more bytes.
    public var resumes = 5

    /// Creates options with the defaults above.
    public init(dialect: Dialect = .draft) { self.dialect = dialect }
}

/// The result of an upload.
public struct FinishedUpload: Sendable {
    /// The response to the whole content, with an unread body.
    ///
    /// If the server does not repeat a lost response, this is the server's response to HEAD.
    public let response: Response
    /// The URL of the upload resource.
    public let url: URL
    /// The size of the content in bytes.
    public let bytes: Int64
    /// The number of content bytes that an earlier call had sent.
    public let resumedFrom: Int64
}
