// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCache

@Suite("Responses that are recorded at once")
struct RecordingsTests {
    private let recordings = Recordings()
    private let key = CacheKey(url: "http://a.example/")
    private let other = CacheKey(url: "http://a.example/", partition: "b")
    private let plain = Variant(fields: [])

    private func variant(_ number: Int) -> Variant {
        Variant(fields: [Variant.Field(name: "x", value: "\(number)")])
    }

    private func begin(_ keys: CacheKey...) -> Recordings.Mark {
        recordings.begin(keys, at: Date(timeIntervalSince1970: 0))
    }

    @Test("A response that was requested earlier does not replace a later one, per key and variant")
    func order() {
        let (first, second) = (begin(key, other), begin(key, other))
        #expect(second.mayStore(key, plain))
        #expect(!first.mayStore(key, plain))
        #expect(first.mayStore(key, variant(1)))
        #expect(first.mayStore(other, plain))
        #expect(second.mayStore(key, plain), "it is its own")
        #expect(begin(key).mayStore(key, plain))
    }

    @Test("A change invalidates all exchanges under way, except its own")
    func changes() {
        let (first, second, third) = (begin(key), begin(key), begin(other))
        recordings.spoil(key, except: second)
        #expect(first.isSpoiled(key) && !second.isSpoiled(key) && !third.isSpoiled(other))
        #expect(!first.mayStore(key, plain) && second.mayStore(key, plain))
        recordings.spoil(key, except: second)
        #expect(!second.isSpoiled(key))
        recordings.spoil(key, except: first)
        #expect(second.isSpoiled(key) && first.isSpoiled(key), "each by the other's")
        let later = begin(key)
        #expect(!later.isSpoiled(key))
        recordings.spoil(key)
        #expect(later.isSpoiled(key))
    }

    @Test("A change that a condition names reaches the keys that it holds for")
    func condition() {
        let (first, second) = (begin(key), begin(other))
        recordings.spoil { $0.partition != nil }
        #expect(!first.isSpoiled(key) && second.isSpoiled(other))
    }

    @Test("An exchange that does not end keeps a bounded number of variants")
    func bounds() {
        let longest = begin(key)
        for number in 0..<KeyHistory.maxVariants {
            #expect(begin(key).mayStore(key, variant(number)))
        }
        #expect(!longest.isSpoiled(key))
        #expect(begin(key).mayStore(key, plain))
        #expect(longest.isSpoiled(key))
        #expect(recordings.keyCount == 1)
    }

    @Test("A key is forgotten with the last exchange that may store under it")
    func forgotten() {
        do {
            let first = begin(key, other)
            #expect(first.mayStore(key, plain))
            #expect(recordings.keyCount == 2)
        }
        #expect(recordings.keyCount == 0)
    }
}
