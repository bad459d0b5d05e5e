// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// Sends many requests through one client and looks at the memory and the descriptors of the
/// process behind each tenth of them.
///
/// `turnpike-endurance [--requests N] [--transport curl|urlsession] [--mib N]
/// [--server URL --authority FILE]`
///
/// Each run is a process of its own, and so is the server, so that none counts for another. What is
/// gained in the first tenth is the price of warming up and is not counted. Over libcurl the
/// requests are of many kinds, and memory stays what it was. Over URLSession, which keeps something
/// of each request itself, they are plain, and memory is compared with what URLSession alone gains
/// by the same.
@main
enum Endurance {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            switch (arguments.first, arguments.count) {
            case ("--serve", 1): try EnduranceServer.serve()
            case ("--run", 5...):
                let run = try EnduranceRun(Array(arguments.dropFirst()))
                print(try await run.figures())
            default: try EnduranceVerdict(EnduranceOptions(arguments)).run()
            }
        } catch {
            FileHandle.standardError.write(Data("turnpike-endurance: \(error)\n".utf8))
            exit(1)
        }
    }
}

struct EnduranceOptions {
    private(set) var requests = 50_000
    private(set) var isCurl = true
    /// The size of what is collected.
    private(set) var mebibytes = 1
    /// A server that speaks HTTP/2, with the files of `scripts/peers`; nil for one of this program.
    private(set) var server: String?
    private(set) var authority: String?

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else { throw Self.usage }
            switch option {
            case "--requests":
                guard let count = Int(value), count >= 100 else { throw Self.usage }
                requests = count
            case "--transport":
                guard ["curl", "urlsession"].contains(value) else { throw Self.usage }
                isCurl = value == "curl"
            case "--mib":
                guard let size = Int(value), EnduranceServer.sizes.contains(size) else {
                    throw Self.usage
                }
                mebibytes = size
            case "--server": server = value
            case "--authority": authority = value
            default: throw Self.usage
            }
        }
        guard (server == nil) == (authority == nil), server == nil || isCurl else {
            throw Self.usage
        }
    }

    private static let usage = EnduranceFailure(
        "usage: turnpike-endurance [--requests N] [--transport curl|urlsession] [--mib 1|2|4|8|16|32]"
            + " [--server URL --authority FILE]; at least 100 requests, and a server with curl alone"
    )
}

struct EnduranceFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
