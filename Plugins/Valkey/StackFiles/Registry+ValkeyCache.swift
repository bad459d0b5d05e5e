// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCache
import TurnpikeCacheStackFiles
import TurnpikeSharedState
public import TurnpikeStackFiles
import TurnpikeValkey
import TurnpikeValkeyCache

extension Registry {
    /// Adds the gate `cache` to the names of stack files, which may keep its entries on the server of the
    /// file's `shared`.
    ///
    /// It replaces the gate of `registerCache(shared:)`, whose settings it has.
    public mutating func registerValkeyCache() {
        registerCache { store, settings in
            guard let server = store as? ValkeyServer else { return nil }
            var options = ValkeyStore.Options()
            options.prefix = settings.prefix ?? options.prefix
            options.maxEntryBytes = settings.maxEntryBytes ?? options.maxEntryBytes
            options.fleetLock = settings.fleetLock
            return ValkeyStore(server, options: options)
        }
    }
}
