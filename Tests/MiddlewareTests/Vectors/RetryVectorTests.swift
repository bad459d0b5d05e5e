import Foundation
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting

/// What a policy that is set up like Alamofire's decides: its users find their rules again.
struct RetryVector: Sendable, CustomTestStringConvertible {
    let id: String
    let method: HTTPMethod
    let retries: Int
    let limit: Int
    let status: HTTPStatus?
    let error: URLError.Code
    let delay: Duration?

    init(
        _ id: String, _ method: HTTPMethod = .get, retries: Int = 0, limit: Int = 2,
        status: HTTPStatus? = nil, error: URLError.Code = .networkConnectionLost, delay: Duration?
    ) {
        self.id = id
        self.method = method
        self.retries = retries
        self.limit = limit
        self.status = status
        self.error = error
        self.delay = delay
    }

    var testDescription: String { id }

    func outcome() -> Outcome {
        let request = Request(method, anywhere)
        let result: Result<Response, any Error> =
            status.map { .success(Response(to: request, status: $0)) } ?? .failure(URLError(error))
        return Outcome(request: request, result: result, attempts: retries + 1)
    }
}

@Suite("Vectors of retry decisions")
struct RetryVectorTests {
    // 425 is not among its statuses; the standard policy of this library has it.
    private let policy = RetryPolicy(statuses: [408, 500, 502, 503, 504])
    private let backoff = Backoff(base: .milliseconds(500), jitter: .none)

    private func check(_ vector: RetryVector) async {
        let retry = Retry(
            attempts: vector.limit + 1, policy: policy, backoff: backoff, budget: nil)
        let context = Context(timeSource: ManualClock(), randomSource: SeededRandomSource(seed: 1))
        var delay: Duration?
        if case .retry(let after) = await retry.retry(vector.outcome(), context: context) {
            delay = after
        }
        #expect(delay == vector.delay)
    }

    @Test(
        "Methods and counts",
        arguments: [
            RetryVector("V200", delay: .milliseconds(500)),
            RetryVector("V202", .put, delay: .milliseconds(500)),
            RetryVector("V204", .options, delay: .milliseconds(500)),
            RetryVector("V205", .trace, delay: .milliseconds(500)),
            RetryVector("V207", .patch, delay: nil),
            RetryVector("V210", retries: 1, delay: .milliseconds(1000)),
            RetryVector("V211", retries: 2, delay: nil),
            RetryVector("V214", retries: 2, limit: 4, delay: .milliseconds(2000)),
            RetryVector("V215", retries: 3, limit: 4, delay: .milliseconds(4000)),
            RetryVector("V216", retries: 4, limit: 4, delay: nil),
        ])
    func methods(vector: RetryVector) async { await check(vector) }

    @Test(
        "Statuses",
        arguments: [
            RetryVector("V218", status: 500, delay: .milliseconds(500)),
            RetryVector("V219", status: 502, delay: .milliseconds(500)),
            RetryVector("V221", status: 504, delay: .milliseconds(500)),
            RetryVector("V223", status: 301, delay: nil),
            RetryVector("V225", status: 401, delay: nil),
            RetryVector("V226", status: 404, delay: nil),
            RetryVector("V227", status: 409, delay: nil),
            RetryVector("V228", status: 425, delay: nil),
        ])
    func statuses(vector: RetryVector) async { await check(vector) }

    @Test(
        "Errors of URLSession",
        arguments: [
            RetryVector(
                "V233", error: .backgroundSessionInUseByAnotherProcess, delay: .milliseconds(500)),
            RetryVector(
                "V234", error: .backgroundSessionWasDisconnected, delay: .milliseconds(500)),
            RetryVector("V235", error: .badServerResponse, delay: .milliseconds(500)),
            RetryVector("V237", error: .cannotConnectToHost, delay: .milliseconds(500)),
            RetryVector("V239", error: .cannotLoadFromNetwork, delay: .milliseconds(500)),
            RetryVector("V240", error: .dataNotAllowed, delay: .milliseconds(500)),
            RetryVector("V241", error: .dnsLookupFailed, delay: .milliseconds(500)),
            RetryVector("V242", error: .downloadDecodingFailedMidStream, delay: .milliseconds(500)),
            RetryVector("V244", error: .internationalRoamingOff, delay: .milliseconds(500)),
            RetryVector("V245", error: .networkConnectionLost, delay: .milliseconds(500)),
            RetryVector("V250", error: .timedOut, delay: .milliseconds(500)),
            RetryVector("V252", error: .backgroundSessionRequiresSharedContainer, delay: nil),
            RetryVector("V253", error: .badURL, delay: nil),
            RetryVector("V254", error: .cancelled, delay: nil),
            RetryVector("V255", error: .cannotCloseFile, delay: nil),
            RetryVector("V256", error: .cannotCreateFile, delay: nil),
            RetryVector("V257", error: .cannotDecodeContentData, delay: nil),
            RetryVector("V259", error: .cannotMoveFile, delay: nil),
            RetryVector("V262", error: .cannotRemoveFile, delay: nil),
            RetryVector("V263", error: .cannotWriteToFile, delay: nil),
            RetryVector("V265", error: .clientCertificateRequired, delay: nil),
            RetryVector("V268", error: .fileIsDirectory, delay: nil),
            RetryVector("V270", error: .noPermissionsToReadFile, delay: nil),
            RetryVector("V272", error: .requestBodyStreamExhausted, delay: nil),
            RetryVector("V276", error: .unknown, delay: nil),
            RetryVector("V278", error: .userAuthenticationRequired, delay: nil),
            RetryVector("V279", error: .userCancelledAuthentication, delay: nil),
            RetryVector("V280", error: .zeroByteResource, delay: nil),
        ])
    func errors(vector: RetryVector) async { await check(vector) }
}
