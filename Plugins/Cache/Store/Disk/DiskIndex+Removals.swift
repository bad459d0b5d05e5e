import Synchronization

// How often entries were removed, for all processes.
extension DiskIndex {
    /// What a look-up finds out of a key.
    struct Look {
        let places: [Place]
        /// How often other processes had removed entries of the key's bucket.
        ///
        /// What a store began to take before that changed must not be stored: a removal wins over
        /// it, whoever writes it.
        let removals: UInt64
    }

    /// Looks a key up.
    func look(_ mark: UInt64) throws -> Look {
        try unsafe file.withNumbers(Self.bucketWords, at: offset(mark)) { words in
            unsafe Look(
                places: Self.places(words) { $0 == mark },
                removals: removalsByOthers(words[0], mark))
        }
    }

    /// How often other processes had removed entries of a key's bucket, or nil where that is not
    /// known.
    func removalsByOthers(_ mark: UInt64) -> UInt64? {
        file.number(at: offset(mark)).map { removalsByOthers($0, mark) }
    }

    // The other order than that of noting: see there. The seed is another one in each index, whose
    // removals are not to be taken for those of the one before.
    func removalsByOthers(_ all: UInt64, _ mark: UInt64) -> UInt64 {
        all &+ seed &- own.withLock { $0.count(of: bucket(of: mark)) }
    }

    /// Those that this process has made.
    struct OwnRemovals {
        var all: UInt64 = 0
        var single: [UInt64: UInt64] = [:]

        func count(of bucket: UInt64) -> UInt64 {
            single.isEmpty ? all : all &+ (single[bucket] ?? 0)
        }
    }

    /// Notes that a key's entries are removed, within the folder's lock.
    func noteRemoval(_ mark: UInt64) throws {
        // Before the file: who reads in between sees a number that no later one equals.
        own.withLock { $0.single[bucket(of: mark), default: 0] &+= 1 }
        let offset = offset(mark)
        try file.write((file.number(at: offset) ?? 0) &+ 1, at: offset)
    }

    /// Notes that any entries are removed, within the folder's lock.
    func noteRemovals() throws {
        own.withLock { $0.all &+= 1 }
        try unsafe forManyBuckets { words, offset in
            for start in stride(from: 0, to: words.count, by: Self.bucketWords) {
                unsafe words[start] &+= 1
            }
            try unsafe file.write(words, at: offset)
        }
    }
}
