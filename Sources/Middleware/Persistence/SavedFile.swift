import Dispatch
import Foundation
import Synchronization
import TurnpikeCore

/// A private file that follows a state in memory: written whole, from a queue of its own, a second
/// after the first change that it lacks.
///
/// Memory is what counts. A file that cannot be written, because its disk is full or its folder is not
/// to be trusted, fails no call: the next change tries again, and ``takeNews()`` tells once.
final class SavedFile: Sendable {
    private struct State {
        var isDue = false
        var timer: (any TimerToken)?
        // What kept the last write from being done.
        var fault: String?
    }

    private let file: PrivateFile
    private let timeSource: any TimeSource
    // Spares calls the lock.
    private let hasNews = Atomic(false)
    private let queue = DispatchQueue(label: "turnpike.saved-file", qos: .utility)
    private let state = Mutex(State())

    static let delay: Duration = .seconds(1)

    /// Creates the keeper of a file, which need not exist.
    /// - Parameters:
    ///   - path: The file, or a link to it; what it leads to is replaced, and the link stays.
    ///   - timeSource: What the delay of writing is measured on.
    init(path: String, timeSource: any TimeSource) {
        file = PrivateFile(path, trust: .own)
        self.timeSource = timeSource
    }

    /// Reads the file's lines, none if there is no file, and removes what killed writers have left
    /// beside it.
    func lines(maxBytes: Int) throws -> [JSONObject] {
        file.removeLeftovers()
        guard let content = try file.read(maxBytes: maxBytes) else { return [] }
        return content.split(separator: UInt8(ascii: "\n")).compactMap { line in
            (try? JSONValue(parsing: Data(line)))?.object
        }
    }

    /// Why the file is not written, if nobody was told yet.
    func takeNews() -> String? {
        guard hasNews.load(ordering: .relaxed) else { return nil }
        hasNews.store(false, ordering: .relaxed)
        return state.withLock { $0.fault }
    }

    /// Hears that the state has changed.
    func changed(_ content: @escaping @Sendable () -> Data) {
        let isFirst = state.withLock { state in
            defer { state.isDue = true }
            return !state.isDue
        }
        guard isFirst else { return }
        let timer = timeSource.schedule(after: Self.delay) { [self] in
            queue.async { self.write(content) }
        }
        state.withLock { if $0.isDue { $0.timer = timer } }
    }

    /// Returns when all changes so far are in the file.
    func flush(_ content: @escaping @Sendable () -> Data) async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.write(content)
                continuation.resume()
            }
        }
    }

    private func write(_ content: () -> Data) {
        let (isDue, timer) = state.withLock { state in
            defer { (state.isDue, state.timer) = (false, nil) }
            // What failed is tried again, too, though nothing has changed since.
            return (state.isDue || state.fault != nil, state.timer)
        }
        timer?.cancel()
        guard isDue else { return }
        do {
            try file.write(content())
            state.withLock { $0.fault = nil }
        } catch {
            let fault = "\(error)"
            let isNews = state.withLock { state in
                defer { state.fault = fault }
                return state.fault != fault
            }
            if isNews { hasNews.store(true, ordering: .relaxed) }
        }
    }
}
