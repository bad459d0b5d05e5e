// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// One replica of a fleet that shares a quota: calls at once, again and again, for a time.
///
/// `turnpike-fleet --valkey URL --origin URL [--path PATH] [--seconds N] [--concurrency N]
/// [--quota N] [--burst N]` waits for a line on standard input before it begins. It prints one line
/// of JSON: calls, failures, and how long probes took, which are calls under another quota that has
/// room: what the store adds to a call. It ends with 1 if a call failed.
@main
enum Fleet {
    static func main() async {
        do {
            let run = try FleetRun(FleetOptions(Self.arguments))
            FileHandle.standardOutput.write(Data("ready\n".utf8))
            if readLine() == nil { return }
            let report = await run.run()
            print(report.text)
            if report.failures > 0 { throw FleetFailure(description: report.errors.joined()) }
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("turnpike-fleet: \(error)\n".utf8))
            exit(1)
        }
    }
}

extension Fleet {
    // Under libfaketime, which moves the environment, Swift does not find the arguments.
    private static var arguments: [String] {
        let given = Array(CommandLine.arguments.dropFirst())
        guard given.isEmpty else { return given }
        let text = ProcessInfo.processInfo.environment["TURNPIKE_FLEET_ARGUMENTS"] ?? ""
        return text.split(separator: " ").map(String.init)
    }
}

struct FleetFailure: Error, CustomStringConvertible {
    let description: String
}

struct FleetOptions {
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

    subscript(name: String) -> String { values[name] ?? "" }

    func number(_ name: String, _ fallback: Int) -> Int {
        values[name].flatMap { Int($0) } ?? fallback
    }
}
