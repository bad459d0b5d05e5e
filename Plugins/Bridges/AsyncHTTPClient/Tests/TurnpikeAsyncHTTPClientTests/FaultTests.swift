// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTP2
import Testing
import Turnpike

@testable import TurnpikeAsyncHTTPClient

@Suite("Errors of async-http-client")
struct FaultTests {
    struct Case: Sendable, CustomStringConvertible {
        let error: any Error
        let reached: TransferState.Phase
        let code: ClientError.Code
        let isUnsent: Bool

        init(
            _ error: any Error, _ reached: TransferState.Phase, _ code: ClientError.Code,
            isUnsent: Bool = false
        ) {
            self.error = error
            self.reached = reached
            self.code = code
            self.isUnsent = isUnsent
        }

        var description: String { "\(error), \(reached)" }
    }

    private static let refused = NIOHTTP2Errors.streamClosed(
        streamID: 1, errorCode: .refusedStream)

    static let cases = [
        Case(HTTPClientError.alreadyShutdown, .connecting, .cancelled, isUnsent: true),
        Case(HTTPClientError.cancelled, .sending, .cancelled),
        Case(HTTPClientError.connectTimeout, .connecting, .connectTimeout, isUnsent: true),
        Case(
            HTTPClientError.getConnectionFromPoolTimeout, .connecting, .connectTimeout,
            isUnsent: true),
        Case(HTTPClientError.proxyAuthenticationRequired, .connecting, .connection, isUnsent: true),
        Case(HTTPClientError.readTimeout, .sending, .idleTimeout),
        Case(HTTPClientError.readTimeout, .receiving, .idleTimeout),
        Case(HTTPClientError.remoteConnectionClosed, .connecting, .connection, isUnsent: true),
        Case(HTTPClientError.remoteConnectionClosed, .sending, .connection),
        Case(HTTPClientError.remoteConnectionClosed, .receiving, .incomplete),
        Case(HTTPParserError.headerOverflow, .sending, .tooLarge),
        Case(HTTPParserError.invalidConstant, .sending, .protocol),
        Case(HTTPParserError.invalidEOFState, .receiving, .incomplete),
        Case(
            ChannelError.connectTimeout(.seconds(1)), .connecting, .connectTimeout, isUnsent: true),
        Case(IOError(errnoCode: 104, reason: "read"), .sending, .connection),
        // The server has not processed the request, whatever was sent (RFC 9113 §8.7).
        Case(refused, .sending, .connection, isUnsent: true),
        Case(refused, .receiving, .incomplete),
        Case(
            NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .protocolError), .sending,
            .protocol),
        Case(
            NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .internalError), .sending,
            .connection),
    ]

    @Test("Each has a code and says how far the exchange had come", arguments: cases)
    func classified(_ sample: Case) throws {
        let transfer = TransferState(sample.reached, bodyBytesSent: 7)
        let error = try #require(Fault.of(sample.error, transfer) as? ClientError)
        #expect(error.code == sample.code)
        #expect(error.transfer?.isUnsent == sample.isUnsent)
    }

    @Test("A value that is refused is not shown, for it may be a secret")
    func secrets() throws {
        let refusal = HTTPClientError.invalidHeaderFieldValues(["planted-secret"])
        let error = try #require(
            Fault.of(refusal, TransferState(.connecting)) as? ClientError)
        #expect(error.code == .invalidRequest)
        #expect(!"\(error)".contains("planted"))
    }
}
