// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension DigestAuthentication {
    /// The reusable nonces of each origin, the latest first.
    public final class Sessions: Sendable {
        fileprivate let sessions = Mutex(BoundedMap<Origin, Nonces>())

        /// Creates an object without nonces.
        public init() {}
    }
}

private struct Nonces: BoundedMapEntry {
    // One answer for each protection space.
    private var answers: [DigestAnswer] = []
    private static let bound = 16

    var isInUse: Bool { false }

    mutating func keep(_ answer: DigestAnswer) {
        var first = answer
        // The count of a known nonce continues. A new nonce replaces the old nonce of the
        // protection space.
        answers.removeAll { old in
            if old.challenge.isSame(as: answer.challenge) { first = old }
            return old.challenge.isOfSameSpace(as: answer.challenge)
        }
        answers.insert(first, at: 0)
        if answers.count > Self.bound { answers.removeLast() }
    }

    mutating func takeFirst(where isRight: (DigestAnswer) -> Bool) -> DigestAnswer? {
        guard let index = answers.firstIndex(where: isRight) else { return nil }
        let answer = answers[index]
        // A nonce is not used again after the maximum count.
        if answer.count == .max {
            answers.remove(at: index)
            return nil
        }
        answers[index].count += 1
        return answer
    }

    mutating func remove(nonce: String) {
        answers.removeAll { Grammar.areSame($0.challenge.nonce, nonce) }
    }
}

extension DigestAuthentication.Sessions {
    /// Returns an answer with the next count of a known nonce, or nil if no nonce is known.
    func answer(for path: String, at origin: Origin) -> DigestAnswer? {
        sessions.withLock { sessions in
            guard sessions[origin] != nil else { return nil }
            // `update` marks the origin as recently used.
            return sessions.update(origin, orMake: Nonces()) { nonces in
                nonces.takeFirst { $0.challenge.covers(path) }
            }
        }
    }

    // Stores and returns a first answer. If an answer to the same nonce is already stored, the
    // result is the stored answer with the next count.
    func begin(_ answer: DigestAnswer, at origin: Origin) -> DigestAnswer {
        sessions.withLock { sessions in
            sessions.update(origin, orMake: Nonces()) { nonces in
                nonces.keep(answer)
                return nonces.takeFirst { _ in true } ?? answer
            }
        }
    }

    func prepare(_ answer: DigestAnswer, at origin: Origin) {
        sessions.withLock { $0.update(origin, orMake: Nonces()) { $0.keep(answer) } }
    }

    func end(_ answer: DigestAnswer, at origin: Origin) {
        sessions.withLock { sessions in
            _ = sessions.updateIfPresent(origin) { $0.remove(nonce: answer.challenge.nonce) }
        }
    }
}
