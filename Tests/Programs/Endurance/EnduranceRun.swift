import Foundation
import Turnpike
import TurnpikeCurl

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One way to send many requests, as a process of its own.
struct EnduranceRun {
    enum Way: String {
        /// Requests of all kinds, over libcurl.
        case curl
        /// Plain ones, by a client over URLSession.
        case plain
        /// The same by URLSession alone.
        case alone
    }

    static let lanes = 16

    private let way: Way
    private let requests: Int
    private let mebibytes: Int
    private let url: URL
    // Where the server is not one of this program.
    private let authority: String?

    init(_ arguments: [String]) throws {
        guard arguments.count > 3, let way = Way(rawValue: arguments[0]),
            let requests = Int(arguments[1]), let mebibytes = Int(arguments[2]),
            let url = URL(string: arguments[3])
        else { throw EnduranceFailure("a run wants a way, two numbers and a URL") }
        self.way = way
        self.requests = requests
        self.mebibytes = mebibytes
        self.url = url
        authority = arguments.count > 4 ? arguments[4] : nil
    }

    func figures() async throws -> JSONValue {
        let begin = ContinuousClock.now
        let looks =
            switch way {
            case .curl: try await mixed()
            case .plain:
                try await plain { [client = Client()] in
                    try await client.get(Target($0)).data()
                }
            case .alone:
                try await plain { [session = URLSession(configuration: .ephemeral)] in
                    try await session.data(from: $0).0
                }
            }
        func list(_ figure: (EnduranceMemory) -> JSONValue) -> JSONValue {
            .array(looks.map(figure))
        }
        let gained = (looks.last?.descriptors ?? 0) - (looks.first?.descriptors ?? 0)
        return [
            "liveMiB": list { Self.mebibytes($0.live) },
            "residentMiB": list { Self.mebibytes($0.resident) },
            "residentWithoutKeptMiB": list { Self.mebibytes($0.resident - $0.kept) },
            "keptByMallocMiB": list { Self.mebibytes($0.kept) },
            "trimmedMiB": Self.mebibytes(try EnduranceMemory.trimmed()),
            "arenas": list { .number(JSONNumber($0.arenas)) },
            "gainedDescriptors": .number(JSONNumber(gained)),
            "seconds": Self.number((ContinuousClock.now - begin) / .seconds(1)),
        ]
    }

    /// Sends each tenth, and looks behind it.
    private func tenths(
        _ send: (Range<Int>) async throws -> Void
    ) async throws -> [EnduranceMemory] {
        var looks: [EnduranceMemory] = []
        for tenth in 0..<10 {
            try await send(requests * tenth / 10..<requests * (tenth + 1) / 10)
            looks.append(try await EnduranceMemory.settled())
        }
        return looks
    }

    private func plain(
        _ send: (URL) async throws -> Data
    ) async throws -> [EnduranceMemory] {
        let url = url.appending(path: "plain")
        return try await tenths { numbers in
            for number in numbers where try await send(url).count != 1000 {
                throw EnduranceFailure("request \(number) had another answer")
            }
        }
    }

    private func mixed() async throws -> [EnduranceMemory] {
        let traffic = try EnduranceTraffic(url, authority: authority, mebibytes: mebibytes)
        let looks = try await tenths { numbers in
            try await withThrowingTaskGroup { group in
                for lane in numbers.prefix(Self.lanes) {
                    group.addTask {
                        for number in stride(from: lane, to: numbers.upperBound, by: Self.lanes) {
                            try await traffic.send(number)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        await traffic.shutdown()
        return looks
    }

    private static func mebibytes(_ bytes: Int) -> JSONValue { number(Double(bytes) / 1_048_576) }

    static func number(_ value: Double) -> JSONValue {
        JSONNumber((value * 100).rounded() / 100).map(JSONValue.number) ?? .null
    }
}
