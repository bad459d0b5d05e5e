import Foundation

/// The user instructions of one GET of 1 KiB, counted by valgrind: they do not depend on what else
/// the machine does.
///
/// Each client sends some requests in a row, and then a thousand more; the difference is theirs
/// alone.
struct Instructions {
    static let subcommand = "send"

    private var json = false
    private var clients: [Peer] = [.curl, .curlStandard, .ahc1]

    private static let few = 200
    private static let many = 1200

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--json": json = true
            case "--clients":
                clients = (rest.popFirst() ?? "").split(separator: ",")
                    .compactMap { Peer(rawValue: String($0)) }
            default: throw PeerError("unknown option \(option)")
            }
        }
    }

    func run() throws {
        let server = try Nginx()
        defer { server.stop() }
        guard let workload = Workload.named("W1") else { return }
        for client in clients {
            let few = try count(client, server.url(workload), server.authority, Self.few)
            let many = try count(client, server.url(workload), server.authority, Self.many)
            let each = (many - few) / (Self.many - Self.few)
            print(
                json
                    ? #"{"bench":"instructions","client":"\#(client.rawValue)","perRequest":\#(each)}"#
                    : "\(client.rawValue): \(each) instructions a request")
        }
    }

    private func count(
        _ client: Peer, _ url: String, _ authority: String, _ requests: Int
    ) throws -> Int {
        // valgrind cannot read what Swift's linker writes for debuggers.
        let folder = FileManager.default.temporaryDirectory.path
        let program = folder + "/turnpike-peers-stripped-\(getpid())"
        let log = program + ".log"
        defer {
            try? FileManager.default.removeItem(atPath: program)
            try? FileManager.default.removeItem(atPath: log)
        }
        guard let path = Bundle.main.executablePath else { throw PeerError("no executable") }
        _ = try output(of: "strip", ["--strip-debug", "-o", program, path])
        _ = try output(
            of: "valgrind",
            [
                "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=" + log, program,
                Self.subcommand, client.rawValue, url, authority, String(requests),
            ])
        let text = try String(contentsOfFile: log, encoding: .utf8)
        let line = text.components(separatedBy: "Collected :").dropFirst().first ?? ""
        guard let number = line.split(whereSeparator: \.isWhitespace).first.flatMap({ Int($0) })
        else { throw PeerError("valgrind gave no count; is it installed?") }
        return number
    }

    /// What is counted.
    static func send(_ arguments: [String]) async throws {
        guard arguments.count == 4, let peer = Peer(rawValue: arguments[0]),
            let workload = Workload.named("W1"), let url = URL(string: arguments[1]),
            let count = Int(arguments[3])
        else { throw PeerError("usage: peers \(subcommand) CLIENT URL CA COUNT") }
        let exchange = try peer.exchange(workload, url, authority: arguments[2])
        for _ in 0..<count { _ = try await exchange() }
    }
}
