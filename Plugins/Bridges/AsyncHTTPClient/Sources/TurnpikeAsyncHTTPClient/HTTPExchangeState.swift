// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import NIOCore
import TurnpikeEssentials

/// The progress of an ``HTTPExchange``; accessed under its lock.
struct HTTPExchangeState {
    enum Run {
        case starting
        /// async-http-client has been started, and may send.
        case executing
        case running(HTTPClient.Task<Void>)
        case ended
        /// The exchange was given up before there was a task.
        case givenUp
    }

    /// Whether the end of an early refusal must be counted.
    ///
    /// async-http-client stops the upload at a status of 300 or more, and may then not report the
    /// end of the response.
    enum Sending {
        case underWay
        /// A refusal came first; this is the number of bytes of its content that are left.
        case refused(rest: Int64)
        case done
    }

    /// Whether the reader wants more; see `didReceiveBodyPart`.
    enum Demand {
        case open
        /// The reader asked for more before the connection waited for it.
        case resumed
        case awaited(EventLoopPromise<Void>)
    }

    struct GivenUp {
        /// How far the exchange may have come.
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

    /// Ends the exchange from this side.
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
        // The head may have been sent before that was told.
        if reached == .connecting { givenUp.phase = .sending }
        return givenUp
    }

    /// Takes the head of a refusal.
    /// - Returns: Whether the refusal ends with it, before the upload has ended.
    mutating func receiveRefusal(_ length: Int64) -> Bool {
        guard case .underWay = sending else { return false }
        sending = .refused(rest: length)
        return length == 0
    }

    /// Takes content of the response.
    /// - Returns: Whether it is the rest of a refusal, before the upload has ended.
    mutating func receive(_ count: Int) -> Bool {
        guard case .refused(let rest) = sending else { return false }
        sending = .refused(rest: rest - Int64(count))
        return rest <= Int64(count)
    }
}
