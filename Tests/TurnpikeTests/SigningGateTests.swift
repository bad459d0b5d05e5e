// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeSupport
import TurnpikeTesting

/// AWS Signature Version 4 for S3, as a user would write it.
private struct AWSSignature: RequestAdapter {
    let id: String
    let secret: String
    let region: String
    var signsStreams = true

    func adapt(_ request: inout Request, context: Context) async throws {
        let hash: String
        if request.body.canOpenAgain || signsStreams {
            hash = try await SHA256.digest(of: request.body).hexadecimal
        } else {
            hash = "UNSIGNED-PAYLOAD"
        }
        let time = context.timeSource.date.formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: false)
                .timeZone(separator: .omitted).dateSeparator(.omitted).timeSeparator(.omitted))
        request.headers["x-amz-content-sha256"] = hash
        request.headers["x-amz-date"] = time
        var fields = ["host": request.origin?.host ?? ""]
        for field in request.headers where "\(field.name)".lowercased() != "content-type" {
            fields["\(field.name)".lowercased()] = field.value
        }
        let names = fields.keys.sorted()
        let parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
        let head = ["\(request.method)", parts?.percentEncodedPath, parts?.percentEncodedQuery]
        let canonical =
            head.map { $0 ?? "" } + names.map { "\($0):\(fields[$0] ?? "")" }
            + ["", names.joined(separator: ";"), hash]
        let scope = [String(time.prefix(8)), region, "s3", "aws4_request"]
        let digest = SHA256.digest(of: Data(canonical.joined(separator: "\n").utf8)).hexadecimal
        let text = ["AWS4-HMAC-SHA256", time, scope.joined(separator: "/"), digest]
        let key = scope.reduce(Data("AWS4\(secret)".utf8)) { key, part in
            HMACSHA256.code(for: Data(part.utf8), key: key)
        }
        let code = HMACSHA256.code(for: Data(text.joined(separator: "\n").utf8), key: key)
        request.headers["Authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(id)/\(scope.joined(separator: "/")),"
            + "SignedHeaders=\(names.joined(separator: ";")),Signature=\(code.hexadecimal)"
    }
}

@Suite("A gate that signs requests with their content")
struct SigningGateTests {
    private let gate = AWSSignature(
        id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        region: "us-east-1")
    private let host = "https://examplebucket.s3.amazonaws.com"

    /// The day of AWS's examples.
    private let clock = ManualClock(date: Date(timeIntervalSince1970: 1_369_353_600))

    private func client(_ transport: MockTransport, _ stack: Stack) -> Client {
        Client(transport: transport, stack: stack, timeSource: clock)
    }

    private func stream(replayable: Bool, _ text: String) -> RequestBody {
        .stream(replayable: replayable) {
            AsyncStream { continuation in
                for byte in text.utf8 { continuation.yield(Data([byte])) }
                continuation.finish()
            }
        }
    }

    // "Authenticating Requests: Using the Authorization Header", Amazon S3 API Reference.
    @Test("Its signatures are those of AWS's examples, and the content is sent after it was hashed")
    func examples() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let text = "Welcome to Amazon S3."
        try Data(text.utf8).write(to: file)
        let transport = MockTransport { _ in .ok() }
        let client = client(transport, [gate])
        try await client.get(
            Target("\(host)/test.txt"), headers: ["Range": "bytes=0-9"]
        ).empty()
        let bodies: [RequestBody] = [
            .data(Data(text.utf8)), .file(file, type: nil), stream(replayable: true, text),
        ]
        for body in bodies {
            try await client.put(
                Target("\(host)/test%24file.text"), body: body,
                headers: [
                    "Date": "Fri, 24 May 2013 00:00:00 GMT",
                    "x-amz-storage-class": "REDUCED_REDUNDANCY",
                ]
            ).empty()
        }
        let signatures = transport.sent.map {
            $0.request.headers["Authorization"]?.split(separator: "=").last.map(String.init)
        }
        let put = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        #expect(
            signatures == [
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41", put, put, put,
            ])
        #expect(transport.sent.map(\.text) == ["", text, text, text])
    }

    @Test("A stream that can be read only once is refused unread, or sent unsigned by choice")
    func once() async throws {
        let transport = MockTransport { _ in .ok() }
        let body = stream(replayable: false, "abc")
        let refused = client(transport, [gate]).put(Target("\(host)/x"), body: body)
        let error = await #expect(throws: ClientError.self) { try await refused.empty() }
        #expect(error?.code == .bodyNotReplayable)
        #expect(transport.sent.isEmpty)
        var lenient = gate
        lenient.signsStreams = false
        try await client(transport, [lenient]).put(Target("\(host)/x"), body: body).empty()
        let sent = try #require(transport.sent.first?.request)
        #expect(sent.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
        #expect(transport.sent.map(\.text) == ["abc"])
    }

    @Test("Each attempt is signed anew")
    func attempts() async throws {
        let transport = MockTransport([.any(.status(503), .ok())])
        let client = client(transport, [.retry(backoff: .constant(.seconds(1))), gate])
        let call = client.put(Target("\(host)/x"), body: stream(replayable: true, "abc"))
        async let done: Void = call.empty()
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(1))
        try await done
        let dates = transport.sent.compactMap { $0.request.headers["x-amz-date"] }
        #expect(dates.count == 2 && dates.first != dates.last)
    }

    // The content has no end.
    @Test("A deadline and a cancellation end the hashing", arguments: [true, false])
    func ends(byDeadline: Bool) async throws {
        let (chunks, chunk) = AsyncStream.makeStream(of: Void.self)
        let body = RequestBody.stream(replayable: true) {
            AsyncStream<Data>(unfolding: {
                chunk.yield()
                return Data(count: 1000)
            })
        }
        let transport = MockTransport { _ in .ok() }
        let client = client(transport, [.deadline(.seconds(5)), gate])
        let running = client.put(Target("\(host)/x"), body: body).start(DataSerializer())
        for await _ in chunks { break }
        if byDeadline {
            clock.advance(by: .seconds(5))
        } else {
            running.cancel()
        }
        let error = await #expect(throws: (any Error).self) { try await running.value }
        if byDeadline {
            #expect((error as? ClientError)?.code == .deadlineExceeded)
        } else {
            #expect(error is CancellationError)
        }
        #expect(transport.sent.isEmpty)
    }
}
