// SPDX-License-Identifier: Apache-2.0

import TurnpikeCache

extension ValkeyStore {
    /// What a store keeps on its server, and for how long.
    public struct Options: Sendable {
        /// How the names of all keys begin; replicas with the same one, and the same
        /// ``/TurnpikeCache/Cache/init(_:partition:options:meter:)`` partition, share their entries.
        public var prefix = "turnpike:cache"

        /// How long one operation of a call may take.
        public var timeLimit: Duration = .milliseconds(20)

        /// How long one operation may take that no call waits for: lists and purges.
        public var managementLimit: Duration = .seconds(5)

        /// The most bytes of all variants of a URL together, heads included.
        ///
        /// They travel together. Larger content is not stored; for a further variant the oldest goes.
        public var maxEntryBytes = 1 << 20

        /// How long a stale response that can be validated is kept.
        public var staleTime: Duration = .seconds(86_400)

        /// How long any response is kept at most.
        public var longestTime: Duration = .seconds(30 * 86_400)

        /// How long a miss waits at most for the request of another replica for the same, so that the
        /// fleet sends one; nil for no wait.
        ///
        /// It is also how long a claim lasts whose holder ends without a word. A response that is not
        /// stored lets those who wait, and all callers of the next ten seconds, ask for themselves.
        public var fleetLock: Duration?

        /// Creates the default options.
        public init() {}
    }

    /// How long a call waits for another one's request.
    public var claimLimit: Duration? { options.fleetLock }
}
