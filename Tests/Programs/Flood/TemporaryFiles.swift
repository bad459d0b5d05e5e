// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The disk space of the files without a name that this process has open.
enum TemporaryFiles {
    static var mebibytes: Double {
        let directory = "/proc/self/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var blocks: Int64 = 0
        for name in names {
            let path = directory + "/" + name
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path),
                target.hasSuffix("(deleted)"), let descriptor = CInt(name)
            else { continue }
            var status = stat()
            if unsafe fstat(descriptor, &status) == 0 { blocks += Int64(status.st_blocks) }
        }
        return Double(blocks) * 512 / 1_048_576
    }

    /// The space once it is given back, or after a second.
    static func settled() async -> Double {
        for _ in 0..<50 where mebibytes > 0 { try? await Task.sleep(for: .milliseconds(20)) }
        return mebibytes
    }
}

/// Looks at the temporary files from time to time, and keeps the largest figure.
final class TemporaryFileWatch: Sendable {
    private let state = Mutex((peak: 0.0, isOver: false))

    init() {
        Thread { [weak self] in
            while self?.look() == true { Thread.sleep(forTimeInterval: 0.05) }
        }.start()
    }

    private func look() -> Bool {
        let now = TemporaryFiles.mebibytes
        return state.withLock { state in
            state.peak = max(state.peak, now)
            return !state.isOver
        }
    }

    /// Ends the watch.
    /// - Returns: The most space at a time, in MiB.
    func end() -> Double {
        _ = look()
        return state.withLock { state in
            state.isOver = true
            return state.peak
        }
    }
}
