// SPDX-License-Identifier: Apache-2.0

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
        else { throw EnduranceFailure("a run needs a way, two numbers and a URL") }
        self.way = way
        self.requests = requests
        self.mebibytes = mebibytes
        self.url = url
        authority = arguments.count > 4 ? arguments[4] : nil
    }

    func figures() async throws -> JSONValue {
        let begin = ContinuousClock.now
        let before = try await EnduranceMemory.settled()
        let looks =
            switch way {
            case .curl: try await mixed()
            case .plain: try await plainByClient()
            case .alone: try await plainBySession()
            }
        func list(_ figure: (EnduranceMemory) -> JSONValue) -> JSONValue {
            .array(looks.map(figure))
        }
        guard let first = looks.first, let last = looks.last else {
            throw EnduranceFailure("no look")
        }
        let end = try await EnduranceMemory.settled()
        return [
            "liveMiB": list { Self.mebibytes($0.live) },
            "residentMiB": list { Self.mebibytes($0.resident) },
            "residentWithoutKeptMiB": list { Self.mebibytes($0.resident - $0.kept) },
            "keptByMallocMiB": list { Self.mebibytes($0.kept) },
            "trimmedMiB": Self.mebibytes(try EnduranceMemory.trimmed()),
            "arenas": list { .number(JSONNumber($0.arenas)) },
            "gainedDescriptors": Self.counts(last.gained(since: first)),
            "descriptorsLeft": Self.counts(end.gained(since: before)),
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
            let look = try await EnduranceMemory.settled()
            looks.append(look)
            // A run of hours is to be watched, and one that is ended before its end has told something.
            let line = "\(tenth + 1)/10: \(look.live) bytes in use, \(look.resident) resident\n"
            FileHandle.standardError.write(Data(line.utf8))
        }
        return looks
    }

    private static func counts(_ counts: [String: Int]) -> JSONValue {
        .object(
            JSONObject(
                counts.sorted { $0.key < $1.key }.map { ($0.key, .number(JSONNumber($0.value))) }))
    }

    private func plainByClient() async throws -> [EnduranceMemory] {
        let client = Client()
        let looks = try await plain { try await client.get(Target($0)).data() }
        await client.shutdown()
        return looks
    }

    private func plainBySession() async throws -> [EnduranceMemory] {
        let session = URLSession(configuration: .ephemeral)
        let looks = try await plain { try await session.data(from: $0).0 }
        session.invalidateAndCancel()
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
            // As many connections are open at each look.
            try await traffic.connect(Self.lanes)
        }
        await traffic.shutdown()
        return looks
    }

    private static func mebibytes(_ bytes: Int) -> JSONValue { number(Double(bytes) / 1_048_576) }

    static func number(_ value: Double) -> JSONValue {
        JSONNumber((value * 100).rounded() / 100).map(JSONValue.number) ?? .null
    }
}
