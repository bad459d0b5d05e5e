// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore
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
    public var unwrittenFiles: [String] {
        common.value("outputFaults") { OutputFaults() }.texts
    }
}

/// The keepers of the files that stack files name: one for each path, for as long as anybody uses
/// it, so that none overwrites what another keeps.
final class FileKeepers<Keeper: AnyObject & Sendable>: Sendable {
    private struct Reference { weak let keeper: Keeper? }

    private let references = Mutex<[String: Reference]>([:])

    /// The keeper of a file; a new one if nobody uses the file.
    func keeper(at path: String, _ make: () throws -> Keeper) rethrows -> Keeper {
        // A link and its target are one file.
        let path = URL(filePath: path).standardizedFileURL.resolvingSymlinksInPath()
            .path(percentEncoded: false)
        return try references.withLock { references in
            if let known = references[path]?.keeper { return known }
            let new = try make()
            references = references.filter { $0.value.keeper != nil }
            references[path] = Reference(keeper: new)
            return new
        }
    }
}
