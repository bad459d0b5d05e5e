// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The decisions on Alamofire's list of errors: who comes from there finds its rules again.
@Suite("Retry decisions on URLSession's errors")
struct RetryVectorTests {
    /// Whether a failure of a transport that throws URLSession's errors as they are is retried.
    private func isRetried(_ code: URLError.Code) async throws -> Bool {
        let policy = RetryPolicy.standard.deciding { outcome in
            (outcome.error as? URLError).map { URLError.Code.passing.contains($0.code) }
        }
        let transport = MockTransport { _ in .failure(URLError(code)) }
        let client = Client(transport: transport) {
            Retry(attempts: 2, policy: policy, backoff: Backoff(base: .zero))
        }
        await #expect(throws: URLError.self) { try await client.get("http://a.example/").empty() }
        return transport.sentCount == 2
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
    func passingErrors(code: URLError.Code) async throws {
        #expect(try await isRetried(code))
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
    func lastingErrors(code: URLError.Code) async throws {
        #expect(try await !isRetried(code))
    }
}
