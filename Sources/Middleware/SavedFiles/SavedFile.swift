// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// A private file with a copy of a state in memory.
///
/// The whole file is written one second after the first unsaved change, on a separate queue. If a
/// write fails, because the disk is full or the folder is not trusted, no call fails. The next
/// change starts another write, and ``takeFault()`` returns the fault once.
final class SavedFile: Sendable {
    private struct State {
        var isDue = false
        var timer: (any TimerToken)?
        // The reason why the last write failed.
        var fault: String?
    }

    private let file: PrivateFile
    private let timeSource: any TimeSource
    // This flag avoids the lock if no write has failed.
    private let hasNewFault = Atomic(false)
    private let queue = DispatchQueue(label: "turnpike.saved-file", qos: .utility)
    private let state = Mutex(State())

    static let delay: Duration = .seconds(1)

    // The file need not exist. If the path is a link, a write replaces the target of the link.
    init(path: String, timeSource: any TimeSource) {
        file = PrivateFile(path, trust: .own)
        self.timeSource = timeSource
    }

    /// Reads the lines of an existing file, and removes temporary files of killed processes.
    func lines(maxBytes: Int) throws -> [JSONObject] {
        file.removeLeftovers()
        guard let content = try file.read(maxBytes: maxBytes) else { return [] }
        return content.split(separator: UInt8(ascii: "\n")).compactMap { line in
            (try? JSONValue(parsing: Data(line)))?.object
        }
    }

    /// Returns the reason why the file cannot be written, once for each fault.
    func takeFault() -> String? {
        guard hasNewFault.load(ordering: .relaxed) else { return nil }
        hasNewFault.store(false, ordering: .relaxed)
        return state.withLock { $0.fault }
    }

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
            // The file is written again after a failed write, even if the state has not changed.
            return (state.isDue || state.fault != nil, state.timer)
        }
        timer?.cancel()
        guard isDue else { return }
        do {
            try file.write(content())
            state.withLock { $0.fault = nil }
        } catch {
            let fault = "\(error)"
            let isNew = state.withLock { state in
                defer { state.fault = fault }
                return state.fault != fault
            }
            if isNew { hasNewFault.store(true, ordering: .relaxed) }
        }
    }
}
