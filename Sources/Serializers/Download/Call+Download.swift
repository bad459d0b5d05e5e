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
    /// The content is never held in memory. A transfer that breaks is taken up again where it
    /// broke, if the server allows it. Only a response of 200 to 299 is saved. The client's limit
    /// for collected content does not apply; its deadline does, to each exchange: give a large
    /// download one of its own.
    /// - Parameters:
    ///   - destination: Where the file goes.
    ///   - options: How a transfer that breaks is dealt with.
    ///   - onProgress: Called with each chunk, on the task that reads.
    /// - Returns: The file.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/download`` where the file cannot be made, written
    ///   or named; the call's own errors otherwise.
    @discardableResult
    public func download(
        to destination: DownloadDestination, options: DownloadOptions = DownloadOptions(),
        onProgress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> DownloadedFile {
        try await DownloadSession(destination, options, onProgress: onProgress).run(self)
    }

    /// Sends the request and writes the content of the response to a file: into a directory that is
    /// there, under the name that the response suggests, else under the URL's own name.
    @discardableResult
    public func download(
        to url: URL, options: DownloadOptions = DownloadOptions(),
        onProgress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
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
