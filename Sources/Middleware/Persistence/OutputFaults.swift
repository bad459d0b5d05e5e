// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// The files of logs and metrics that could not be written, of all clients of one registry.
final class OutputFaults: Sendable {
    private let reasons = Mutex<[String: String]>([:])

    /// Notes how a write of a file ended.
    func record(_ path: String, _ fault: (any Error)?) {
        let reason = fault.map { ($0 as? FileFault)?.description ?? $0.localizedDescription }
        reasons.withLock { $0[path] = reason }
    }

    var texts: [String] {
        reasons.withLock { $0.map { "\($0): \($1)" }.sorted() }
    }
}

extension Registry {
    /// What kept log and metrics files, which stack files of this registry name, from being written,
    /// each with its path; empty if the last write of each has succeeded.
    ///
    /// They are written in the background, and when their clients shut down: no call fails if its line
    /// or its figures cannot be written. A program to which they matter asks when its clients have shut
    /// down.
    public var unwrittenFiles: [String] { common("outputFaults") { OutputFaults() }.texts }
}
