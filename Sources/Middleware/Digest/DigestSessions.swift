import Synchronization
import TurnpikeCore

/// The nonces that may be used again, by origin, the latest first.
final class DigestSessions: Sendable {
    private static let maxOrigins = 64
    private static let maxSessions = 16

    private let sessions = Mutex<[Origin: [DigestAnswer]]>([:])

    /// An answer that needs no challenge, with the next count of its nonce; nil where none is known.
    func answer(for path: String, at origin: Origin) -> DigestAnswer? {
        sessions.withLock { sessions in
            guard let index = sessions[origin]?.firstIndex(where: { $0.challenge.covers(path) })
            else { return nil }
            return Self.take(index, of: &sessions[origin, default: []])
        }
    }

    /// Keeps a first answer and gives it out; one to the same nonce that is kept already goes on
    /// counting in its place.
    func begin(_ answer: DigestAnswer, at origin: Origin) -> DigestAnswer {
        sessions.withLock { sessions in
            Self.keep(answer, at: origin, in: &sessions)
            return Self.take(0, of: &sessions[origin, default: []]) ?? answer
        }
    }

    /// Keeps a first answer for the next request.
    func prepare(_ answer: DigestAnswer, at origin: Origin) {
        sessions.withLock { Self.keep(answer, at: origin, in: &$0) }
    }

    /// Lets go of a nonce whose answer was refused.
    func end(_ answer: DigestAnswer, at origin: Origin) {
        sessions.withLock { sessions in
            sessions[origin]?.removeAll { $0.challenge.nonce == answer.challenge.nonce }
        }
    }

    private static func keep(
        _ answer: DigestAnswer, at origin: Origin, in sessions: inout [Origin: [DigestAnswer]]
    ) {
        if sessions[origin] == nil, sessions.count >= maxOrigins { sessions = [:] }
        var kept = sessions[origin] ?? []
        var first = answer
        // A nonce that is known goes on counting; another one of its space takes its place.
        kept.removeAll { old in
            if old.challenge.isSame(as: answer.challenge) { first = old }
            return old.challenge.realm == answer.challenge.realm
                && old.challenge.paths == answer.challenge.paths
        }
        kept.insert(first, at: 0)
        sessions[origin] = Array(kept.prefix(maxSessions))
    }

    // A nonce whose count has run out is not used again.
    private static func take(_ index: Int, of kept: inout [DigestAnswer]) -> DigestAnswer? {
        let answer = kept[index]
        if answer.count == .max {
            kept.remove(at: index)
            return nil
        }
        kept[index].count += 1
        return answer
    }
}
