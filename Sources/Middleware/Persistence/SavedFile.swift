import Dispatch
import Foundation
import Synchronization
import TurnpikeCore

/// A private file that follows a state in memory: written whole, from a queue of its own, a second
/// after the first change that it lacks.
final class SavedFile: Sendable {
    private struct State {
        var isDue = false
        var timer: (any TimerToken)?
    }

    private let path: String
    private let timeSource: any TimeSource
    private let queue = DispatchQueue(label: "turnpike.saved-file", qos: .utility)
    private let state = Mutex(State())

    static let delay: Duration = .seconds(1)

    init(path: String, timeSource: any TimeSource) {
        self.path = path
        self.timeSource = timeSource
    }

    /// Reads the file's lines; none where there is no file.
    static func lines(of path: String, maxBytes: Int) throws -> [JSONObject] {
        guard let content = try PrivateFile.read(path, maxBytes: maxBytes) else { return [] }
        return content.split(separator: UInt8(ascii: "\n")).compactMap { line in
            (try? JSONValue(parsing: Data(line)))?.object
        }
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
            defer { state = State() }
            return (state.isDue, state.timer)
        }
        timer?.cancel()
        guard isDue else { return }
        // Memory is what counts; a disk that is full must not fail calls. The next change tries
        // again.
        try? PrivateFile.write(content(), to: path)
    }
}
