// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCache
import TurnpikeCore

/// Kills processes that write to a cache on disk, and looks at what they leave.
///
/// `turnpike-crash --mode kill [--count N]` kills one writer after the other at random moments.
/// `turnpike-crash --mode share [--seconds N]` has two write to one folder, and reads along.
///
/// It prints one line of JSON, and ends with 1 where an entry was torn or wrong, or the folder grew
/// beyond its bound.
@main
enum Crash {
    static func main() async {
        do {
            let options = Options(CommandLine.arguments.dropFirst())
            let report: CrashReport
            switch options["mode"] {
            case "kill": report = try await CrashRun.kill(count: options.number("count", 20))
            case "share": report = try await CrashRun.share(seconds: options.number("seconds", 2))
            case "write":
                let writer = CrashWriter(
                    directory: options["directory"] ?? "", seed: UInt64(options.number("seed", 1)))
                return await writer.run()
            default: throw CrashFailure(description: "expected --mode kill or --mode share")
            }
            print(report.text)
            if !report.isRight { throw CrashFailure(description: "not right: \(report.text)") }
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("turnpike-crash: \(error)\n".utf8))
            exit(1)
        }
    }

    private struct Options {
        private var values: [String: String] = [:]

        init(_ arguments: some Sequence<String>) {
            var name: String?
            for argument in arguments {
                if let known = name {
                    values[known] = argument
                    name = nil
                } else {
                    name = String(argument.drop { $0 == "-" })
                }
            }
        }

        subscript(name: String) -> String? { values[name] }

        func number(_ name: String, _ fallback: Int) -> Int {
            values[name].flatMap { Int($0) } ?? fallback
        }
    }
}

struct CrashFailure: Error, CustomStringConvertible {
    let description: String
}

/// What came of a run.
struct CrashReport {
    let mode: String
    var kills = 0
    var checked = 0
    var wrong = 0
    var largest: Int64 = 0

    var isRight: Bool {
        wrong == 0 && checked > 0 && largest <= CrashWriter.maxBytes + CrashWriter.slack
    }

    var text: String {
        """
        {"program": "crash", "mode": "\(mode)", "kills": \(kills), "checked": \(checked), \
        "wrong": \(wrong), "largestBytes": \(largest), "boundBytes": \(CrashWriter.maxBytes)}
        """
    }
}
