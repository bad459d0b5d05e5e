// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// The decisions of a policy with Alamofire's statuses: who comes from there finds its rules again.
@Suite("Retry decisions")
struct RetryVectorTests {
    // 425 is not among them; the standard policy of this library has it.
    private let policy = RetryPolicy(statuses: [408, 500, 502, 503, 504])
    private let backoff = Backoff(base: .milliseconds(500), jitter: .none)

    /// How long to wait before another attempt; nil where there is none.
    private func delay(
        _ method: HTTPMethod = .get, retries: Int = 0, limit: Int = 2,
        _ result: (Request) -> Result<Response, any Error> = { _ in
            .failure(URLError(.networkConnectionLost))
        }
    ) async -> Duration? {
        let retry = Retry(attempts: limit + 1, policy: policy, backoff: backoff, budget: nil)
        let context = Context(timeSource: ManualClock(), randomSource: SeededRandomSource(seed: 1))
        let request = Request(method, anywhere)
        let outcome = Outcome(request: request, result: result(request), attempts: retries + 1)
        guard case .retry(let delay) = await retry.retry(outcome, context: context) else {
            return nil
        }
        return delay
    }

    @Test(
        "Requests that may be sent twice are retried (RFC 9110 §9.2.2)",
        arguments: [
            (.get, true), (.put, true), (.options, true), (.trace, true), (.patch, false),
        ] as [(HTTPMethod, Bool)])
    func methods(method: HTTPMethod, isRetried: Bool) async {
        #expect(await delay(method) == (isRetried ? .milliseconds(500) : nil))
    }

    @Test(
        "Each delay is twice the previous one, up to the maximum",
        arguments: [(1, 2, 1000), (2, 2, nil), (2, 4, 2000), (3, 4, 4000), (4, 4, nil)]
            as [(Int, Int, Int?)])
    func counts(retries: Int, limit: Int, wait: Int?) async {
        #expect(await delay(retries: retries, limit: limit) == wait.map { .milliseconds($0) })
    }

    @Test(
        "Statuses of the policy are retried",
        arguments: [
            (500, true), (502, true), (504, true), (301, false), (401, false), (404, false),
            (409, false), (425, false),
        ] as [(HTTPStatus, Bool)])
    func statuses(status: HTTPStatus, isRetried: Bool) async {
        let delay = await delay { .success(Response(to: $0, status: status)) }
        #expect(delay == (isRetried ? .milliseconds(500) : nil))
    }

    @Test(
        "Failures of the network are retried",
        arguments: [
            URLError.Code.backgroundSessionInUseByAnotherProcess,
            .backgroundSessionWasDisconnected, .badServerResponse, .cannotConnectToHost,
            .cannotLoadFromNetwork, .dataNotAllowed, .dnsLookupFailed,
            .downloadDecodingFailedMidStream, .internationalRoamingOff, .networkConnectionLost,
            .timedOut,
        ])
    func passingErrors(code: URLError.Code) async {
        #expect(await delay { _ in .failure(URLError(code)) } == .milliseconds(500))
    }

    @Test(
        "Failures that another attempt would repeat are not retried",
        arguments: [
            URLError.Code.backgroundSessionRequiresSharedContainer, .badURL, .cancelled,
            .cannotCloseFile, .cannotCreateFile, .cannotDecodeContentData, .cannotMoveFile,
            .cannotRemoveFile, .cannotWriteToFile, .clientCertificateRequired, .fileIsDirectory,
            .noPermissionsToReadFile, .requestBodyStreamExhausted, .unknown,
            .userAuthenticationRequired, .userCancelledAuthentication, .zeroByteResource,
        ])
    func lastingErrors(code: URLError.Code) async {
        #expect(await delay { _ in .failure(URLError(code)) } == nil)
    }
}
