import Synchronization
import TurnpikeCore

/// The state of a download that can pause, apart from its handle, whose end cancels it.
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
        // Ends by itself, once the transfer has.
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

    /// The task of the state that was left, or nil where the step is not allowed.
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

    // Ended by `pause`, `cancel` and `stop`, else by the end of the download.
    private func run(after earlier: Task<Void, Never>?) -> Task<Void, Never> {
        Task.inheriting(immediately: false) { [self] in
            await earlier?.value
            // What a pause kept is taken up now; the options decide over what comes of it.
            inner.withLock { if $0.state == .running { session.release() } }
            do {
                let file = try await session.run(call)
                _ = transition(to: .finished)
                outcome.settle(.success(file))
            } catch is CancellationError where state == .paused || Task.isCancelled {
                // Paused, or cancelled by someone who settles the outcome.
            } catch {
                _ = transition(to: error is CancellationError ? .cancelled : .failed)
                outcome.settle(.failure(error))
            }
        }
    }
}

/// Hands progress to any number of readers, the latest state to each, to one that comes late too.
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
            // Under the lock, so that nothing later comes before it.
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
