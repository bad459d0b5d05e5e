// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeTesting

/// Feeds `turnpike exec` lines that were bent at random, and checks that each of them is answered;
/// or, with `--heads`, one client over libcurl heads of responses that were bent.
///
/// `turnpike-fuzz [--lines N | --heads N] [--seed N] [--patience SECONDS] [--print]`
///
/// The same seed gives the same lines or heads. The command is the `turnpike` that stands beside this
/// program; it runs in a folder of its own and talks to a server that this program starts.
@main
enum Fuzz {
    static func main() async {
        do {
            let options = try FuzzOptions(Array(CommandLine.arguments.dropFirst()))
            if options.prints {
                var source = FuzzSource(seed: options.seed)
                for _ in 0..<options.lines { print(String(decoding: source.next(), as: UTF8.self)) }
                return
            }
            let figures =
                if let count = options.heads {
                    try await FuzzHeadRun(count: count, seed: options.seed).run()
                } else { try FuzzRun(options).run() }
            print(figures)
        } catch {
            FileHandle.standardError.write(Data("turnpike-fuzz: \(error)\n".utf8))
            exit(1)
        }
    }
}

struct FuzzOptions {
    private(set) var lines = 10_000
    /// How many heads there are; nil for lines.
    private(set) var heads: Int?
    private(set) var seed: UInt64 = 1
    /// The longest time without an answer, in seconds.
    private(set) var patience = 120
    /// Whether the lines are only printed.
    private(set) var prints = false

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if option == "--print" {
                prints = true
                continue
            }
            guard let value = rest.popFirst().flatMap(Int.init), value >= 0 else {
                throw FuzzFailure("\(option) needs a number")
            }
            switch option {
            case "--lines": lines = value
            case "--heads": heads = value
            case "--seed": seed = UInt64(value)
            case "--patience": patience = value
            default:
                throw FuzzFailure(
                    "usage: turnpike-fuzz [--lines N | --heads N] [--seed N] [--patience SECONDS] [--print]"
                )
            }
        }
    }
}

struct FuzzFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
