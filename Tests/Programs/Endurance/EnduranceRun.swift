import Foundation
import Turnpike

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One way to send many requests.
struct EnduranceRun {
    private enum Way: String {
        case client, urlsession
    }

    private let way: Way
    private let url: URL
    private let requests: Int

    init(way: String, url: String, requests: String) throws {
        guard let way = Way(rawValue: way), let url = URL(string: url), let count = Int(requests)
        else { throw EnduranceFailure("a run wants a way, a URL and a number") }
        self.way = way
        self.url = url
        self.requests = count
    }

    func figures() async throws -> JSONValue {
        let begin = ContinuousClock.now
        let gained =
            switch way {
            case .client:
                try await repeated { [client = Client()] in
                    try await client.get(Target(url)).data()
                }
            case .urlsession:
                try await repeated { [session = URLSession(configuration: .ephemeral)] in
                    try await session.data(from: url).0
                }
            }
        return [
            "gainedMiB": Self.number(gained.bytes / 1_048_576),
            "gainedDescriptors": .number(JSONNumber(gained.descriptors)),
            "seconds": Self.number((ContinuousClock.now - begin) / .seconds(1)),
        ]
    }

    private func repeated(
        _ send: () async throws -> Data
    ) async throws -> (bytes: Double, descriptors: Int) {
        var bytes = 0
        var descriptors = 0
        for number in 0..<requests {
            if number == requests / 10 {
                bytes = try Self.residentBytes()
                descriptors = try Self.descriptors()
            }
            guard try await send().count == 1000 else {
                throw EnduranceFailure("request \(number) had another answer")
            }
        }
        return (
            Double(try Self.residentBytes() - bytes), try Self.descriptors() - descriptors
        )
    }

    private static func residentBytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .ascii)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    static func number(_ value: Double) -> JSONValue {
        JSONNumber((value * 100).rounded() / 100).map(JSONValue.number) ?? .null
    }
}
