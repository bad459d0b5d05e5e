// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import NIOCore
import TurnpikeEssentials

/// The progress of an ``HTTPExchange``, protected by the lock of the exchange.
struct HTTPExchangeState {
    enum Run {
        case starting
        /// async-http-client was started and may send, but the task is not yet known.
        case executing
        case running(HTTPClient.Task<Void>)
        case ended
        /// The exchange was abandoned before the task was known.
        case givenUp
    }

    /// Whether the content of an early refusal must be counted to find the end of the refusal.
    ///
    /// At a status of 300 or more, async-http-client stops the upload. async-http-client may not
    /// report the end of the response in this case.
    enum Sending {
        case underWay
        /// The refusal arrived before the end of the upload, and `rest` bytes of the upload remain.
        case refused(rest: Int64)
        case done
    }

    /// Whether the reader needs more content; see `didReceiveBodyPart`.
    enum Demand {
        case open
        /// The reader asked for more content before the connection waited for the reader.
        case resumed
        case awaited(EventLoopPromise<Void>)
    }

    struct GivenUp {
        var phase: TransferState.Phase
        let promise: EventLoopPromise<Void>?
        var task: HTTPClient.Task<Void>?
    }

    var run = Run.starting
    var sending = Sending.underWay
    var exchange: Exchange?
    var reached = TransferState.Phase.connecting
    var bytesSent: Int64 = 0
    var demand = Demand.open

    var transfer: TransferState { TransferState(reached, bodyBytesSent: bytesSent) }

    mutating func takeDemand() -> EventLoopPromise<Void>? {
        guard case .awaited(let promise) = demand else { return nil }
        demand = .open
        return promise
    }

    mutating func giveUp() -> GivenUp {
        var givenUp = GivenUp(phase: reached, promise: takeDemand())
        switch run {
        case .starting:
            run = .givenUp
            return givenUp
        case .executing: run = .givenUp
        case .running(let task): givenUp.task = task
        case .ended, .givenUp: break
        }
        // The head may have been sent before the delegate gets the report.
        if reached == .connecting { givenUp.phase = .sending }
        return givenUp
    }

    /// Records the head of a refusal, and returns whether the refusal ends before the upload.
    mutating func receiveRefusal(_ length: Int64) -> Bool {
        guard case .underWay = sending else { return false }
        sending = .refused(rest: length)
        return length == 0
    }

    /// Returns true at the end of a response that refused the request before the upload.
    mutating func receive(_ count: Int) -> Bool {
        guard case .refused(let rest) = sending else { return false }
        sending = .refused(rest: rest - Int64(count))
        return rest <= Int64(count)
    }
}
