// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// Opens WebSockets over libcurl to a server in Python, and lets happen to them what happens.
///
/// `turnpike-sockets [--sockets N] [--echoes N] [--cancels N] [--stop SECONDS] [--python PATH]`, or
/// `turnpike-sockets --idle N [--python PATH]`, which tells what idle sockets cost. With
/// `--at NAME=URL,… --cut URL --authority FILE`, also at servers that run already (`scripts/sockets`).
@main
enum Sockets {
    static func main() async {
        do {
            var arguments = Array(CommandLine.arguments.dropFirst())
            func take(_ name: String) -> String? {
                guard let place = arguments.firstIndex(of: name), place + 1 < arguments.count
                else { return nil }
                defer { arguments.removeSubrange(place...(place + 1)) }
                return arguments[place + 1]
            }
            let python = take("--python") ?? "python3"
            let idle = take("--idle").flatMap { Int($0) }
            if let idle, let kind = take("--of").flatMap({ IdleSockets.Kind(rawValue: $0) }) {
                return print(try await IdleSockets(kind, port: take("--port") ?? "").bytes(idle))
            }
            var run = SocketRun()
            run.sockets = take("--sockets").flatMap { Int($0) } ?? run.sockets
            run.echoes = take("--echoes").flatMap { Int($0) } ?? run.echoes
            run.cancels = take("--cancels").flatMap { Int($0) } ?? run.cancels
            run.stop = take("--stop").flatMap { Double($0) } ?? run.stop
            let others = take("--at").map {
                OtherServers($0, cutAt: take("--cut") ?? "", authority: take("--authority") ?? "")
            }
            guard arguments.isEmpty else { throw SocketFailure("unknown: \(arguments)") }
            if let others { print(try await others.report(run)) }
            let server = try SocketServer(python)
            let report =
                if let idle { try IdleSockets.report(idle, server) } else {
                    try await run.report(with: server)
                }
            print(report)
        } catch {
            FileHandle.standardError.write(Data("turnpike-sockets: \(error)\n".utf8))
            exit(1)
        }
    }
}

struct SocketFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
