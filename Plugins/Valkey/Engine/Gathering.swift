// SPDX-License-Identifier: Apache-2.0

/// Decides whether a command waits a moment for others, so that one system call sends them all.
///
/// Two moments are worth it: while an earlier command of the connection has no reply yet, since a
/// server runs them in order anyway, and just after several tasks have got their replies, since they
/// are likely to send again. With 64 tasks that look up 1 KiB each in a store of responses, a look-up
/// takes 31 % less processor time and 19 % less time than without; with 16 KiB, 17 % less processor
/// time. These are medians of five interleaved rounds of `bench fleet-cache` on two busy cores. A lone
/// task pays nothing. To remove it: `holds` returns false, `replied` true.
///
/// Half of the commands under way are sent at the latest, so that the server works on them while the
/// tasks of the others run. All at once took 15 % longer from any thread, and 40 % on the engine's
/// own (the same load on an idle machine). To remove it: `isPiece` checks only the bytes.
struct Gathering {
    private var until = Int64.min
    private var held = 0
    private var expected = Int.max

    private static let replyTime: Int64 = 150_000
    private static let taskTime: Int64 = 150_000
    private static let fewReplies = 4
    private static let mostBytes = 32 << 10
    private static let pieces = 8...32

    /// The time at which the waiting commands must be sent.
    var deadline: Int64 { until }

    /// Notes another command.
    mutating func add() { held += 1 }

    /// Whether `bytes` of commands wait; `underWay` are those without a reply, with those that wait.
    func holds(_ bytes: Int, of underWay: Int, at now: Int64) -> Bool {
        now < until && held < expected && !isPiece(bytes, of: underWay)
    }

    /// Whether there is enough to be sent by itself.
    func isPiece(_ bytes: Int, of underWay: Int) -> Bool {
        let half = min(max(underWay / 2, Self.pieces.lowerBound), Self.pieces.upperBound)
        return held >= half || bytes >= Self.mostBytes
    }

    /// Commands are sent, and a reply is awaited.
    mutating func sent(at now: Int64) {
        held = 0
        expected = .max
        until = now + Self.replyTime
    }

    /// Replies have come.
    /// - Returns: Whether the waiting commands are sent now.
    mutating func replied(_ count: Int, at now: Int64) -> Bool {
        if count < Self.fewReplies {
            until = .min
            return true
        }
        expected = held + count
        until = now + Self.taskTime
        return false
    }
}
