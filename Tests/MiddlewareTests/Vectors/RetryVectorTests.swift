// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// The decisions on Alamofire's list of errors: who comes from there finds its rules again.
@Suite("Retry decisions")
struct RetryVectorTests {
    private let backoff = Backoff(base: .milliseconds(500), jitter: .none)

    /// How long to wait before another attempt after a failure; nil where there is none.
    private func delay(_ code: URLError.Code) async -> Duration? {
        let retry = Retry(attempts: 3, backoff: backoff, budget: nil)
        let context = Context(timeSource: ManualClock(), randomSource: SeededRandomSource(seed: 1))
        let outcome = Outcome(
            request: Request(.get, anywhere), result: .failure(URLError(code)), attempts: 1)
        guard case .retry(let delay) = await retry.retry(outcome, context: context) else {
            return nil
        }
        return delay
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
        #expect(await delay(code) == .milliseconds(500))
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
        #expect(await delay(code) == nil)
    }
}
