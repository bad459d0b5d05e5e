// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSharedState
import TurnpikeSupport
import TurnpikeTraffic

/// The names of a server's keys for shared state, in the form `turnpike:{<key>}:<part>`.
///
/// The braces mark the hash tag, which selects the node of a cluster for a key. One node therefore
/// has all parts of a key.
enum SharedKey {
    // A digest replaces a longer key, because a server keeps each name in memory.
    private static let longest = 200

    static func name(_ key: String, _ part: String) -> String { "turnpike:{\(tag(key))}:\(part)" }

    static func name(_ key: String, _ rule: QuotaRule) -> String {
        let identity = rule.identity
        // Other keys are replaced by a digest, because a key may contain any text of a user, and a
        // server prints keys in errors.
        let isPlain =
            identity.utf8.count <= longest
            && identity.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return name(
            key,
            "quota:"
                + (isPlain ? identity : "#" + SHA256.digest(of: Data(identity.utf8)).hexadecimal))
    }

    /// Returns a unique text for a hash tag, which has no braces and is not empty.
    private static func tag(_ key: String) -> String {
        if key.utf8.count > longest {
            return "%#" + SHA256.digest(of: Data(key.utf8)).hexadecimal
        }
        if key.isEmpty { return "%" }
        guard key.utf8.contains(where: { "{}%".utf8.contains($0) }) else { return key }
        var tag = ""
        for scalar in key.unicodeScalars {
            switch scalar {
            case "{": tag += "%7B"
            case "}": tag += "%7D"
            case "%": tag += "%25"
            default: tag.unicodeScalars.append(scalar)
            }
        }
        return tag
    }
}

/// The reply of a script of shared state, as a list of numbers.
struct SharedReply {
    // The time limit for an operation on shared state. Gates wait for a shorter time, but need a
    // late answer to return the permits.
    static let timeLimit = Duration.seconds(2)

    private let values: [ValkeyValue]

    init(_ value: ValkeyValue) {
        if case .array(let values) = value { self.values = values } else { values = [value] }
    }

    var count: Int { values.count }

    /// Returns a whole number within a range.
    func integer(_ index: Int, in range: ClosedRange<Int> = 0...Int.max) throws -> Int {
        let number: Int? =
            switch values.indices.contains(index) ? values[index] : .null {
            case .integer(let number): Int(exactly: number)
            case .bytes(let data): Int(String(decoding: data, as: UTF8.self))
            default: nil
            }
        guard let number, range.contains(number) else { throw Self.fault }
        return number
    }

    /// Returns a time in microseconds, rounded up to a nanosecond.
    ///
    /// An excess below the error of an inexact addition is not rounded up.
    func time(_ index: Int) throws -> Duration {
        guard values.indices.contains(index), case .bytes(let data) = values[index],
            let microseconds = Double(String(decoding: data, as: UTF8.self)), !microseconds.isNaN
        else { throw Self.fault }
        let whole = (microseconds * 1000 - 0.01).rounded(.up)
        return .nanoseconds(Int64(exactly: whole) ?? (whole < 0 ? .min : .max))
    }

    static var fault: ClientError {
        ClientError(
            .protocol,
            "the server's reply to a script of shared state is not what the script returns; check"
                + " that the server is Valkey or Redis 5 or later")
    }
}

extension Data {
    init(_ number: Double) { self.init("\(number)".utf8) }
    init(_ number: Int) { self.init("\(number)".utf8) }
}

extension Duration {
    /// The duration in microseconds, the unit of the scripts.
    var microseconds: Double { Double(wholeNanoseconds) / 1000 }

    /// The duration in whole milliseconds, rounded up, from 1 to a number that can be added to a
    /// server's time.
    var expiryMilliseconds: Int {
        let nanoseconds = min(max(wholeNanoseconds, 1), .max - 1_000_000)
        return Int(truncatingIfNeeded: (nanoseconds + 999_999) / 1_000_000)
    }
}
