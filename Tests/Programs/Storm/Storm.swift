// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// Sends a mix of requests over URLSession and cancels half of them at random moments, then shuts
/// transports down in the midst of their work.
///
/// `turnpike-storm [--count N] [--warm-up N] [--seed N] [--concurrency N] [--shutdowns N]
/// [--transport NAME]`
///
/// Faults of URLSession there are traps and hangs, so this is a program of its own and ends itself
/// in time.
@main
enum Storm {
    static func main() async {
        do {
            let options = try StormOptions(Array(CommandLine.arguments.dropFirst()))
            endAfter(seconds: options.patience)
            ProcessMemory.keepTight()
            let figures = try await StormRun(options).run()
            print(figures)
        } catch {
            fail("\(error)")
        }
    }

    private static func endAfter(seconds: TimeInterval) {
        Thread {
            Thread.sleep(forTimeInterval: seconds)
            fail("it was not over after \(Int(seconds)) s: a call or the network hangs")
        }.start()
    }

    private static func fail(_ reason: String) -> Never {
        FileHandle.standardError.write(Data("turnpike-storm: \(reason)\n".utf8))
        exit(1)
    }
}

struct StormOptions {
    private(set) var count = 5000
    /// The calls before them, which bring memory to what the storm needs.
    private(set) var warmUp = 5000
    private(set) var seed: UInt64 = 1
    private(set) var concurrency = 200
    private(set) var shutdowns = 200
    private(set) var transport = StormTransport.urlsession

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if option == "--transport" {
                guard let known = rest.popFirst().flatMap(StormTransport.init(rawValue:)) else {
                    throw StormFailure("--transport is urlsession, curl or curl-executor")
                }
                transport = known
                continue
            }
            guard let value = rest.popFirst().flatMap({ UInt64($0) }) else {
                throw StormFailure("\(option) needs a number")
            }
            switch option {
            case "--count": count = Int(value)
            case "--warm-up": warmUp = Int(value)
            case "--seed": seed = value
            case "--concurrency": concurrency = Int(value)
            case "--shutdowns": shutdowns = Int(value)
            default:
                throw StormFailure(
                    "usage: turnpike-storm [--count N] [--warm-up N] [--seed N]"
                        + " [--concurrency N] [--shutdowns N] [--transport NAME]")
            }
        }
    }

    /// Seconds after which it must be over, by far: a call takes a millisecond or two.
    var patience: Double { 55 + Double(count + warmUp) / 100 + Double(shutdowns) / 10 }
}

struct StormFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
