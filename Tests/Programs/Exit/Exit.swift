// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeTesting

/// Logs to standard error, and ends without shutting its client down.
///
/// `turnpike-exit return|exit|stuck`
@main
enum Exit {
    static func main() async throws {
        let mode = CommandLine.arguments.last ?? ""
        let sink: LineSink =
            mode == "stuck"
            ? LineSink(flushLimit: .seconds(3600)) {
                try FileHandle.standardError.write(contentsOf: $0)
            } : .standardError
        let client = Client(
            baseURL: "http://a.example/", transport: MockTransport(recordLimit: 0) { _ in .ok() },
            stack: [.log(to: sink)])
        // More than a pipe holds, so that lines wait until somebody reads.
        let padding = String(repeating: "x", count: 100)
        for number in 0..<2000 { try await client.get("number/\(number)/\(padding)").empty() }
        FileHandle.standardOutput.write(Data("leaving\n".utf8))
        if mode == "exit" { exit(3) }
    }
}
