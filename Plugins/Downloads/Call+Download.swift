// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

extension Call {
    /// Sends the request and writes the content of the response to a file.
    ///
    /// ```swift
    /// let file = try await client.get("big.iso").download(to: .directory(downloads)) { progress in
    ///     show(progress.fractionReceived)
    /// }
    /// ```
    ///
    /// The content is never held in memory. An interrupted transfer resumes at the same byte if the
    /// server allows it. Only a response with a status from 200 to 299 is saved. The client's limit
    /// for collected content does not apply.
    ///
    /// A deadline includes each exchange to the last byte. Set a separate deadline for a large
    /// download. The deadline restarts when an interrupted transfer resumes. If the deadline
    /// passes, the download fails and is not resumed. To limit the total time, cancel the task.
    /// - Parameters:
    ///   - destination: The place of the file.
    ///   - options: The handling of an interrupted transfer.
    ///   - onProgress: Called after each chunk, on the caller's actor. The transfer continues when
    ///     the closure returns.
    /// - Returns: The file.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/download`` if the file cannot be created, written
    ///   or renamed, or the error of the call.
    @discardableResult
    public func download(
        to destination: DownloadDestination, options: DownloadOptions = DownloadOptions(),
        onProgress: (TransferProgress) -> Void = { _ in }
    ) async throws -> DownloadedFile {
        try await DownloadSession(destination, options).run(self, onProgress: onProgress)
    }

    /// Sends the request and writes the content of the response to a file or into a directory.
    ///
    /// In a directory, the file gets the name that the response suggests. Any URL that is neither
    /// an existing directory nor ends with a slash is the URL of the file.
    @discardableResult
    public func download(
        to url: URL, options: DownloadOptions = DownloadOptions(),
        onProgress: (TransferProgress) -> Void = { _ in }
    ) async throws -> DownloadedFile {
        try await download(to: DownloadDestination(url), options: options, onProgress: onProgress)
    }
}

extension DownloadDestination {
    fileprivate init(_ url: URL) {
        let isFolder = UnnamedFile.isFolder(url.path(percentEncoded: false))
        self = isFolder ?? url.hasDirectoryPath ? .directory(url) : .file(url)
    }
}

/// The handling of an interrupted transfer in a download.
///
/// A transfer resumes with a range request if the server sent a strong validator: a strong entity
/// tag, or a modification date well before the date of the response (RFC 9110 §8.8). The download
/// starts over if there was no strong validator, if the resource has changed, or if the partial
/// response does not contain the same validator. A file therefore never has parts of two versions.
/// If the response to the range request is neither a part nor the whole content, such as a 204, the
/// download fails and keeps the received bytes.
public struct DownloadOptions: Sendable {
    /// The maximum number of times that an interrupted transfer is resumed within the call.
    ///
    /// The wait before a resume starts at half a second. Without progress, the wait doubles up to
    /// 30 s.
    public var resumes = 3

    /// Whether the received bytes are kept for a later call in any process if this call fails.
    ///
    /// A later call with this option, the same URL and the same destination finds the bytes in the
    /// destination's directory, in a file named `.turnpike-….part`. A second file,
    /// `.turnpike-….resume`, is written only if the directory is known before the response. The
    /// error contains the same data in ``TurnpikeCore/ClientError/resumeData``.
    public var keepsPartialFile = false

    /// The data of an earlier call, with which the download continues even if the URL differs.
    public var resumeData: ResumeData?

    /// Creates options.
    public init(
        resumes: Int = 3, keepsPartialFile: Bool = false, resumeData: ResumeData? = nil
    ) {
        self.resumes = resumes
        self.keepsPartialFile = keepsPartialFile
        self.resumeData = resumeData
    }
}

/// The result of a download.
public struct DownloadedFile: Sendable {
    /// The place of the complete file.
    public let url: URL
    /// The name that the response suggested, in a safe form, even if the file has another name.
    public let suggestedName: String
    /// The size of the file in bytes.
    public let bytes: Int64
    /// The number of bytes of the file that came from an earlier call.
    public let resumedFrom: Int64
    /// The head of the last response of the download.
    public let head: ResponseHead
}
