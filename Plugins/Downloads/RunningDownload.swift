// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// A handle that observes, pauses, resumes or cancels a running download.
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
/// range, or the whole content if the server sent no strong validator. If the handle is released,
/// the download is cancelled.
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

        /// Whether a download may change from this state to another state.
        ///
        /// A final state never changes.
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

    /// The file of the finished download.
    /// - Throws: The error of the download, or `CancellationError` if the download or the waiting
    ///   task was cancelled.
    public var value: DownloadedFile {
        get async throws { try await runner.outcome.value() }
    }

    /// The progress of the transfer, of which a slow reader gets only the latest value.
    public var progress: AsyncStream<TransferProgress> { runner.progress.stream() }

    /// Pauses the transfer, or returns false if no transfer is running.
    @discardableResult
    public func pause() -> Bool { runner.pause() }

    /// Resumes a paused download, or returns false if the download is not paused.
    @discardableResult
    public func resume() -> Bool { runner.resume() }

    /// Cancels the download, and removes the received bytes unless the options keep them.
    public func cancel() { runner.cancel() }

    /// Ends the download and keeps the received bytes.
    /// - Returns: The data to continue later, or nil if the download is complete or cannot
    ///   continue.
    public func stop() async -> ResumeData? { await runner.stop() }
}

extension Call {
    /// Starts a download at once and returns a handle to the download.
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

// The state of a download. The release of the handle, a separate object, cancels the download.
final class DownloadRunner: Sendable {
    private struct Inner {
        var state = RunningDownload.State.running
        var task: Task<Void, Never>?
    }

    let outcome = SharedValue<DownloadedFile>()
    let progress: ProgressHub
    private let call: Call
    private let session: DownloadSession
    private let inner = Mutex(Inner())

    init(_ call: Call, _ session: DownloadSession, _ progress: ProgressHub) {
        self.call = call
        self.session = session
        self.progress = progress
        outcome.whenSettled { progress.finish() }
    }

    var state: RunningDownload.State { inner.withLock { $0.state } }

    func start() { inner.withLock { $0.task = run(after: nil) } }

    func pause() -> Bool {
        let task = transition(to: .paused, keeping: true)
        task?.cancel()
        return task != nil
    }

    func resume() -> Bool {
        inner.withLock { inner in
            guard inner.state == .paused else { return false }
            inner.state = .running
            inner.task = run(after: inner.task)
            return true
        }
    }

    func cancel() {
        session.release()
        guard let task = transition(to: .cancelled) else { return }
        task.cancel()
        outcome.settle(.failure(CancellationError()))
        // This task ends when the transfer ends.
        _ = Task.inheriting(immediately: false) { [session] in
            await task.value
            session.discard()
        }
    }

    func stop() async -> ResumeData? {
        guard let task = transition(to: .cancelled, keeping: true) else { return nil }
        task.cancel()
        await task.value
        outcome.settle(.failure(CancellationError()))
        return session.letGo()
    }

    /// Returns the task of the previous state, or nil if the transition is not allowed.
    private func transition(
        to next: RunningDownload.State, keeping: Bool = false
    ) -> Task<Void, Never>? {
        inner.withLock { inner in
            guard inner.state.canBecome(next) else { return nil }
            inner.state = next
            if keeping { session.keep() }
            return inner.task
        }
    }

    // This task ends with `pause`, `cancel`, `stop` or the end of the download.
    private func run(after earlier: Task<Void, Never>?) -> Task<Void, Never> {
        Task.inheriting(immediately: false) { [self] in
            await earlier?.value
            // This run continues with the bytes that a pause kept. From here on, the options decide
            // whether the bytes stay after a failure.
            inner.withLock { if $0.state == .running { session.release() } }
            do {
                let file = try await session.run(call) { progress.send($0) }
                _ = transition(to: .finished)
                outcome.settle(.success(file))
            } catch is CancellationError where state == .paused || Task.isCancelled {
                // The run was paused, or the method that cancelled the run settles the outcome.
            } catch {
                _ = transition(to: error is CancellationError ? .cancelled : .failed)
                outcome.settle(.failure(error))
            }
        }
    }
}

// Sends the progress to any number of readers. A late reader first gets the latest state.
final class ProgressHub: Sendable {
    private struct State {
        var readers: [AsyncStream<TransferProgress>.Continuation] = []
        var latest: TransferProgress?
        var isFinished = false
    }

    private let state = Mutex(State())

    func send(_ progress: TransferProgress) {
        let readers = state.withLock { state in
            state.latest = progress
            return state.readers
        }
        for reader in readers { reader.yield(progress) }
    }

    func stream() -> AsyncStream<TransferProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
        let isFinished = state.withLock { state in
            // The lock prevents the delivery of a later state before this state.
            if let latest = state.latest { continuation.yield(latest) }
            if !state.isFinished { state.readers.append(continuation) }
            return state.isFinished
        }
        if isFinished { continuation.finish() }
        return stream
    }

    func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.finish() }
    }
}
