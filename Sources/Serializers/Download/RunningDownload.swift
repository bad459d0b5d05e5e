import Synchronization
public import TurnpikeCore

/// A handle to a download that is under way: its progress, its pauses, its file.
///
/// ```swift
/// let running = client.get("big.iso").startDownload(to: .directory(downloads))
/// for await progress in running.progress { show(progress) }
/// running.pause()
/// running.resume()
/// let file = try await running.value
/// ```
///
/// A pause ends the transfer and keeps what has come; ``resume()`` asks for the rest by a range, or
/// for all of it where the server gave nothing to tell versions apart by. Letting go of the handle
/// cancels the download.
public final class RunningDownload: Sendable {
    /// What a download is doing.
    public enum State: Sendable, Hashable, CaseIterable {
        /// Bytes are on their way.
        case running
        /// It waits for ``RunningDownload/resume()``.
        case paused
        /// The file is there.
        case finished
        /// It failed.
        case failed
        /// It was cancelled.
        case cancelled

        /// Whether a download may go from this state to another.
        ///
        /// What has ended stays as it is; what runs or pauses may end in any way.
        public func canBecome(_ next: State) -> Bool {
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

    /// What the download is doing.
    public var state: State { runner.state }

    /// The file.
    /// - Throws: The download's error; `CancellationError` where it, or the waiting task, was
    ///   cancelled.
    public var value: DownloadedFile {
        get async throws { try await runner.outcome.value() }
    }

    /// How far the content has come: the latest state whenever the reader is ready for one.
    public var progress: AsyncStream<TransferProgress> { runner.progress.stream() }

    /// Ends the transfer for now; gives false where there is none.
    @discardableResult
    public func pause() -> Bool { runner.pause() }

    /// Goes on after a pause; gives false where there is none.
    @discardableResult
    public func resume() -> Bool { runner.resume() }

    /// Ends the download and removes what has come, unless its options keep it.
    public func cancel() { runner.cancel() }

    /// Ends the download and keeps what has come.
    /// - Returns: What a later download needs to go on from there; nil where it cannot, or where
    ///   the file is there already.
    public func stop() async -> ResumeData? { await runner.stop() }
}

extension Call {
    /// Begins a download at once and gives a handle to it.
    public func startDownload(
        to destination: DownloadDestination, options: DownloadOptions = DownloadOptions()
    ) -> RunningDownload {
        let progress = ProgressHub()
        let session = DownloadSession(destination, options) { progress.send($0) }
        let runner = DownloadRunner(self, session, progress)
        runner.start()
        return RunningDownload(runner)
    }
}
