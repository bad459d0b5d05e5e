import Foundation

/// The user instructions of one GET, counted by valgrind: they do not depend on what else the
/// machine does.
///
/// Each client sends some requests in a row and then a thousand more; the difference is theirs
/// alone.
struct InstructionsBench {
    static let subcommand = "instructions-client"

    private var url: String?
    private var clients = ["curl", "curl-standard"]

    private static let few = 200
    private static let many = 1200

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else { throw BenchError("\(option) needs a value") }
            switch option {
            case "--url": url = value
            case "--client": clients = [value]
            default: throw BenchError("unknown option \(option)")
            }
        }
    }

    func run(_ report: Report) throws {
        let server = try url == nil ? ChildProcess([LoopbackServer.subcommand]) : nil
        defer { server?.end() }
        guard let url = try url ?? server?.readLine() else {
            throw BenchError("the server did not start")
        }
        for client in clients {
            let few = try count(client, url, requests: Self.few)
            let many = try count(client, url, requests: Self.many)
            report.line([
                ("bench", "instructions"), ("client", .text(client)),
                ("perRequest", .number(Double((many - few) / (Self.many - Self.few)))),
            ])
        }
    }

    private func count(_ client: String, _ url: String, requests: Int) throws -> Int {
        guard let path = Bundle.main.executablePath else { throw BenchError("no executable") }
        let child = try ChildProcess(
            [
                "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", path,
                Self.subcommand, client, url, String(requests),
            ], executable: "/usr/bin/env")
        var last = ""
        while let line = try child.readErrorLine() {
            if line.contains("Collected :") { last = line }
        }
        child.wait()
        guard let number = last.split(separator: " ").last.flatMap({ Int($0) }) else {
            throw BenchError("valgrind gave no count; is it installed?")
        }
        return number
    }

    /// What is counted.
    static func send(_ arguments: [String]) async throws {
        guard arguments.count == 3, let kind = LoopbackClient.Kind(rawValue: arguments[0]),
            let url = URL(string: arguments[1]), let count = Int(arguments[2])
        else { throw BenchError("usage: bench \(subcommand) KIND URL COUNT") }
        let get = try LoopbackClient.get(kind, url)
        for _ in 0..<count { _ = try await get() }
    }
}
