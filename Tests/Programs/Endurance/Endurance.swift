import Foundation
import Turnpike

/// Sends many requests through one client, one after the other, and tells what memory and
/// descriptors the process has gained, beside what URLSession alone gains by the same requests.
///
/// `turnpike-endurance [--requests N]`
///
/// Each way runs in a process of its own, and so does the server, so that none counts for another.
/// What is gained in the first tenth is the price of warming up and is not counted. It fails where
/// the client gained more than 3 MiB above URLSession, or a descriptor.
@main
enum Endurance {
    static func main() async {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            switch (arguments.first, arguments.count) {
            case ("--serve", 1): try EnduranceServer.serve()
            case ("--run", 4):
                let run = try EnduranceRun(
                    way: arguments[1], url: arguments[2], requests: arguments[3])
                print(try await run.figures())
            case (nil, 0): try compare(50_000)
            case ("--requests", 2):
                guard let requests = Int(arguments[1]), requests >= 100 else { throw usage }
                try compare(requests)
            default: throw usage
            }
        } catch {
            FileHandle.standardError.write(Data("turnpike-endurance: \(error)\n".utf8))
            exit(1)
        }
    }

    private static let usage = EnduranceFailure("usage: turnpike-endurance [--requests N]")

    private static func compare(_ requests: Int) throws {
        let server = try EnduranceServer()
        defer { server.end() }
        func run(_ way: String) throws -> JSONValue {
            let output = try Child(["--run", way, server.url, String(requests)]).output()
            return try JSONValue(parsing: output)
        }
        let raw = try run("urlsession")
        let client = try run("client")
        let excess = (client["gainedMiB"]?.double ?? .infinity) - (raw["gainedMiB"]?.double ?? 0)
        print(
            JSONValue.object([
                "program": "endurance", "requests": .number(JSONNumber(requests)),
                "urlsession": raw, "client": client, "excessMiB": EnduranceRun.number(excess),
            ]))
        if excess > 3 { throw EnduranceFailure("\(excess) MiB more than URLSession alone") }
        if let gained = client["gainedDescriptors"]?.int, gained > 0 {
            throw EnduranceFailure("\(gained) descriptors more than at the beginning")
        }
    }
}

struct EnduranceFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
