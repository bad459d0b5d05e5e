// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore

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
