// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

/// Plants each kind of secret in each place of one exchange, and looks for it in each output.
@Suite("Secrets in every place")
struct SecretPlacesTests {
    /// Fields whose names do not say that they hold a secret.
    private static let fields = [
        "X-Note", "Referer", "Destination", "Refresh", "X-Original-URL", "Location",
        "Content-Location",
        "Link", "User-Agent", "X-Forwarded-Uri", "Warning", "ETag", "From", "Forwarded", "Server",
        "Via",
    ]
    /// Fields whose names do.
    private static let secretFields = [
        "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Auth", "X-Jwt-Assertion",
        "Private-Token", "X-Amz-Security-Token", "X-Csrf", "X-Session-Id", "X-Vault-Token", "X-Otp",
        "X-Session-Token", "Authentication-Info",
    ]

    private struct Leaky: Error, CustomStringConvertible { let description: String }

    private final class Heard: RequestLogger, MetricsRecorder {
        private let kept = Mutex<[String]>([])
        var texts: [String] { kept.withLock { $0 } }
        func log(_ event: CallEvent) {
            add([
                "\(event)", event.errorDescription ?? "", "\(String(describing: event.request))",
                "\(String(describing: event.responseHeaders()))",
                event.requestContent(upTo: 4096) ?? "", event.responseContent() ?? "",
            ])
        }
        func record(_ measurement: CallMeasurement) {
            add(["\(measurement)", "\(MetricLabels(measurement).attributes)"])
        }
        private func add(_ texts: [String]) { kept.withLock { $0 += texts } }
    }

    private struct Noting: Interceptor {
        let text: String
        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            context.report(text, by: "Noting")
            return try await next(request)
        }
    }

    private static func printed(_ thing: Any) -> [String] {
        var dumped = ""
        dump(thing, to: &dumped)
        let texts = ["\(thing)", String(reflecting: thing), dumped]
        return texts + [(thing as? any Error)?.localizedDescription].compactMap(\.self)
    }

    // A fourth of the fields, and those that answers repeat.
    private static func headers(
        _ place: String, _ spelling: SecretSpelling, _ quarter: Int
    ) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for (index, name) in fields.enumerated() where index % 4 == quarter {
            headers[HTTPHeaders.Name(name)] = spelling.text(PlantedSecret.at("\(place)-\(name)"))
        }
        for (index, name) in secretFields.enumerated()
        where index % 4 == quarter || echoed.contains(name) {
            headers[HTTPHeaders.Name(name)] = PlantedSecret.at("\(place)-\(name)")
        }
        return headers
    }

    private static let echoed = ["X-Api-Key", "Cookie"]

    /// The answers that one kind of secret is planted in.
    private static func answers(
        _ carrier: SecretCarrier, _ spelling: SecretSpelling, _ quarter: Int
    ) -> [MockResponse] {
        var headers = headers("answer", spelling, quarter)
        headers["Set-Cookie"] = "a=\(PlantedSecret.at("set-cookie")); Path=/"
        if !carrier.type.isEmpty { headers["Content-Type"] = carrier.type }
        let body = carrier.content(spelling.text(PlantedSecret.at("answer-body")))
        let text = spelling.text(PlantedSecret.at("error"))
        // What the request carried, in a sentence that does not tell what it is.
        let echo =
            "you are \(PlantedSecret.at("request-X-Api-Key")), \(PlantedSecret.at("request-Cookie"))"
        let trailers: HTTPHeaders = ["X-Note": spelling.text(PlantedSecret.at("trailer"))]
        return [
            .status(200, headers: headers, body: body),
            .status(403, headers: headers, body: body),
            .status(200, headers: ["Content-Type": "text/plain"], body: Data(echo.utf8)),
            .stream(
                [body.prefix(body.count / 2), body.dropFirst(body.count / 2)], headers: headers
            )
            .followed(by: trailers),
            .stream([body], headers: headers, thenThrow: ClientError(.incomplete, text)),
            .failure(ClientError(.connection, text, underlying: Leaky(description: text))),
            .failure(ClientError(.tls, echo, underlying: Leaky(description: echo))),
            .failure(
                ClientError(
                    .connection, "lost",
                    underlying: URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: text]))),
            .failure(Leaky(description: text)),
        ]
    }

    /// One run: a spelling, a carrier, an answer and a fourth of the fields, by their numbers.
    ///
    /// Each carrier meets each answer, and each of the three meets each fourth of the fields. Each
    /// spelling meets each carrier, and each field, in the tests of what is shown and recorded.
    private struct Run {
        let spelling: Int
        let carrier: Int
        let answer: Int
        let quarter: Int

        static let answers = 9
        static let count = SecretCarrier.all.count * answers

        init(_ number: Int) {
            spelling = number % SecretSpelling.all.count
            carrier = number / Self.answers
            answer = number % Self.answers
            quarter = (number + number / SecretSpelling.all.count) % 4
        }

        static func all(of spelling: Int) -> [Run] {
            (0..<count).map(Run.init).filter { $0.spelling == spelling }
        }
    }

    @Test("The runs cover the stated pairs")
    func pairs() {
        let runs = (0..<Run.count).map(Run.init)
        #expect(Set(runs.map { [$0.carrier, $0.answer] }).count == Run.count)
        for (name, value, count) in [
            ("spellings", \Run.spelling, SecretSpelling.all.count),
            ("carriers", \Run.carrier, SecretCarrier.all.count),
            ("answers", \Run.answer, Run.answers),
        ] {
            let met = Set(runs.map { [$0[keyPath: value], $0.quarter] })
            #expect(met.count == 4 * count, "\(name)")
        }
    }

    @Test("No secret is in any output", arguments: SecretSpelling.all.indices)
    func planted(index: Int) async throws {
        let spelling = SecretSpelling.all[index]
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        for one in Run.all(of: index).sample(every: 5) {
            let (answer, quarter) = (one.answer, one.quarter)
            let carrier = SecretCarrier.all[one.carrier]
            let answers = Self.answers(carrier, spelling, quarter)
            #expect(answers.count == Run.answers)
            let file = folder.appending(path: "\(one.carrier)-\(answer).har")
            let outputs = try await run(
                answers[answer], carrier, spelling, quarter, recording: file)
            for (output, texts) in outputs {
                let leaks = PlantedSecret.leaks(in: texts)
                #expect(
                    leaks.isEmpty,
                    "\(spelling), \(carrier.type), answer \(answer), \(output): \(leaks.prefix(1))")
            }
        }
    }

    @Test(
        "No secret is in any shown or recorded content",
        arguments: SecretSpelling.all.sample(every: 3))
    func contents(spelling: SecretSpelling) async throws {
        let recording = try Recording()
        defer { recording.remove() }
        var texts: [String] = []
        for carrier in SecretCarrier.all {
            let content = carrier.content(spelling.text(PlantedSecret.at("body")))
            let type = MediaType(parsing: carrier.type)
            texts.append(Redaction.standard.content(content, type: type))
            var request = Request(.post, "https://a.example/", body: .data(content))
            if !carrier.type.isEmpty { request.headers["Content-Type"] = carrier.type }
            texts.append(request.curlCommand())
            try await recording.send(request)
        }
        texts.append(try recording.text())
        #expect(PlantedSecret.leaks(in: texts).isEmpty)
    }

    @Test("No secret is in any shown or recorded field", arguments: SecretSpelling.all)
    func fields(spelling: SecretSpelling) async throws {
        let recording = try Recording()
        defer { recording.remove() }
        let plain = Self.fields.map { ($0, spelling.text(PlantedSecret.at($0))) }
        let secret = Self.secretFields.map { ($0, PlantedSecret.at($0)) }
        let headers = HTTPHeaders(plain + secret)
        try await recording.send(Request(.get, "https://a.example/", headers: headers))
        let shown = headers.map { Redaction.standard.value(of: $0) }
        let texts = shown + ["\(headers)", try recording.text()]
        #expect(PlantedSecret.leaks(in: texts).isEmpty, "\(PlantedSecret.leaks(in: texts))")
    }

    private func run(
        _ answer: MockResponse, _ carrier: SecretCarrier, _ spelling: SecretSpelling,
        _ quarter: Int,
        recording file: URL
    ) async throws -> [(String, [String])] {
        let sink = MemoryLogSink()
        let heard = Heard()
        let store = MetricsStore()
        let cassette = try CassetteTransport(
            file: file, mode: .record, transport: MockTransport { _ in answer })
        let client = Client(
            transport: cassette,
            stack: [
                .log(to: sink, level: .debug, peekBytes: 4096),
                .log(to: sink, level: .debug, format: .json, peekBytes: 100), heard,
                .metrics(store),
                Noting(text: spelling.text(PlantedSecret.at("note"))), .validate(),
                .retry(attempts: 2, backoff: Backoff(base: .zero)),
            ])
        let query = Query([
            .init("x", spelling.text(PlantedSecret.at("query"))),
            .init("api_key", PlantedSecret.at("query-key")),
        ])
        let target = Target("https://bob:\(PlantedSecret.at("user"))@a.example/x").appending(query)
        var request = Request(
            .post, target, headers: Self.headers("request", spelling, quarter),
            body: .data(carrier.content(spelling.text(PlantedSecret.at("request-body")))))
        if !carrier.type.isEmpty { request.headers["Content-Type"] = carrier.type }
        var texts = Self.printed(request) + Self.printed(RequestSummary(request))
        var outputs = [("curl command", [request.curlCommand()])]
        do {
            let response = try await client.request(request).retryable().response()
            texts += Self.printed(response) + Self.printed(response.head)
            _ = try await response.body.collect(upTo: 1 << 20)
            texts += Self.printed(response.trailers)
        } catch {
            // Errors of the user's own are printed by their type.
            if error is ClientError { texts += Self.printed(error) }
        }
        outputs.append(("printed", texts))
        outputs.append(("log", sink.lines))
        outputs.append(("events", heard.texts))
        outputs.append(("metrics", [store.prometheusText, "\(store.series)"]))
        try cassette.save()
        outputs.append(
            ("cassette", [try String(contentsOf: file, encoding: .utf8)] + cassette.withheld))
        return outputs
    }
}

/// A cassette of a transport that answers with what it was asked.
private struct Recording {
    private let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    private let client: Client

    init() throws {
        let echo = MockTransport { request in
            .status(200, headers: request.headers, body: request.body.inMemory ?? Data())
        }
        let cassette = try CassetteTransport(file: file, mode: .record, transport: echo)
        client = Client(transport: cassette, stack: [])
    }

    func send(_ request: Request) async throws { _ = try await client.request(request).data() }

    func text() throws -> String { try String(contentsOf: file, encoding: .utf8) }

    func remove() { try? FileManager.default.removeItem(at: file) }
}
