// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

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
    /// A deadline covers each exchange to its last byte, so give a large download a deadline of its
    /// own. It begins again when an interrupted transfer resumes; when it passes, the download fails
    /// and is not resumed. To limit the whole, cancel the task.
    /// - Parameters:
    ///   - destination: Where to put the file.
    ///   - options: How an interrupted transfer is handled.
    ///   - onProgress: Called after each chunk, on the caller's actor, so that it may change what
    ///     belongs to that actor. The transfer continues when it returns.
    /// - Returns: The file.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/download`` if the file cannot be created, written
    ///   or renamed; otherwise the error of the call.
    @discardableResult
    public func download(
        to destination: DownloadDestination, options: DownloadOptions = DownloadOptions(),
        onProgress: (TransferProgress) -> Void = { _ in }
    ) async throws -> DownloadedFile {
        try await DownloadSession(destination, options).run(self, onProgress: onProgress)
    }

    /// Sends the request and writes the content of the response to a file or into a directory.
    ///
    /// In a directory, the file gets the name that the response suggests. A URL that is not an
    /// existing directory and does not end with a slash names the file itself.
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
        var isDirectory: ObjCBool = url.hasDirectoryPath ? true : false
        let path = url.path(percentEncoded: false)
        let exists = unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
        let isPlace = exists ? isDirectory.boolValue : url.hasDirectoryPath
        self = isPlace ? .directory(url) : .file(url)
    }
}
