// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// A handle to a running download, to observe progress, pause, resume or cancel it, and get the
/// file.
///
/// ```swift
/// let running = client.get("big.iso").startDownload(to: .directory(downloads))
/// for await progress in running.progress { show(progress) }
/// running.pause()
/// running.resume()
/// let file = try await running.value
/// ```
///
/// A pause ends the transfer and keeps the received bytes. ``resume()`` requests the rest with a
/// range, or the whole content if the server sent no strong validator. Releasing the handle cancels
/// the download.
public final class RunningDownload: Sendable {
    /// The state of a download.
    public enum State: Sendable, Hashable, CaseIterable {
        /// The content is being transferred.
        case running
        /// The download waits for ``RunningDownload/resume()``.
        case paused
        /// The file is complete.
        case finished
        /// The download failed.
        case failed
        /// The download was cancelled.
        case cancelled

        /// Whether a download may change from this state to another.
        ///
        /// A final state never changes. A running or paused download may end in any way.
        func canBecome(_ next: State) -> Bool {
            switch (self, next) {
            case (.finished, _), (.failed, _), (.cancelled, _): false
            case (.running, .running), (.paused, .paused): false
            default: true
            }
        }
    }

    private let runner: DownloadRunner

    init(_ runner: DownloadRunner) { self.runner = runner }

    deinit { runner.cancel() }

    /// The current state.
    public var state: State { runner.state }

    /// The file, when the download has finished.
    /// - Throws: The error of the download, or `CancellationError` if the download or the waiting
    ///   task was cancelled.
    public var value: DownloadedFile {
        get async throws { try await runner.outcome.value() }
    }

    /// The progress of the transfer.
    ///
    /// A slow reader gets only the latest value.
    public var progress: AsyncStream<TransferProgress> { runner.progress.stream() }

    /// Pauses the transfer.
    ///
    /// Returns false if none is running.
    @discardableResult
    public func pause() -> Bool { runner.pause() }

    /// Resumes after a pause.
    ///
    /// Returns false if the download is not paused.
    @discardableResult
    public func resume() -> Bool { runner.resume() }

    /// Cancels the download and removes the received bytes, unless its options keep them.
    public func cancel() { runner.cancel() }

    /// Ends the download and keeps the received bytes.
    /// - Returns: The data to continue later, or nil if that is impossible or the file is already
    ///   complete.
    public func stop() async -> ResumeData? { await runner.stop() }
}

extension Call {
    /// Starts a download at once and returns a handle to it.
    public func startDownload(
        to destination: DownloadDestination, options: DownloadOptions = DownloadOptions()
    ) -> RunningDownload {
        let progress = ProgressHub()
        let session = DownloadSession(destination, options)
        let runner = DownloadRunner(self, session, progress)
        runner.start()
        return RunningDownload(runner)
    }
}
