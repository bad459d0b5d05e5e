// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("CallRecord")
struct CallRecordTests {
    private let record = CallRecord()
    private let request = Request(.get, anywhere)

    private func instant(_ time: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: time) }

    private func send(attempt: Int, at time: Int64) throws -> Int {
        try #require(record.willSend(request, attempt: attempt, at: instant(time), limit: 12))
    }

    private func answer(
        _ exchange: Int, at time: Int64, version: String = "1.1", givenUp: Bool = false
    ) {
        let head = ResponseHead(status: 200, url: request.url, version: version)
        record.didReceiveHead(
            of: Response(head: head), in: exchange, at: instant(time), unless: givenUp)
    }

    private func read(_ bytes: Int, in exchange: Int, end time: Int64) {
        record.didReceive(bytes: bytes, in: exchange)
        record.didEndBody(at: instant(time), in: exchange)
    }

    @Test("What a library has sent again is counted, of whichever attempt")
    func sentAgain() throws {
        _ = try send(attempt: 1, at: 1)
        _ = try send(attempt: 2, at: 2)
        record.take([.sentAgain], ofAttempt: 1)
        record.take([.sent(bytes: 3), .sentAgain], ofAttempt: 2)
        #expect(record.sends == 4)
    }

    @Test("A losing attempt whose head comes late leaves the winner's times and progress alone")
    func loserIsLate() throws {
        let progress = Progress()
        record.onProgress { progress.take($0) }
        let first = try send(attempt: 1, at: 1)
        let second = try send(attempt: 2, at: 2)
        answer(first, at: 3, version: "first")
        answer(second, at: 4, version: "second")
        read(5, in: first, end: 9)
        #expect(record.timeline.sent == instant(1))
        #expect(record.timeline.head == instant(3))
        #expect(record.timeline.bodyEnd == instant(9))
        #expect(record.timeline.protocolVersion == "first")
        #expect(record.timeline.bodyBytesReceived == 5)
        #expect(progress.last?.bytesReceived == 5)
    }

    @Test("A losing attempt whose head comes after the winner's end, and after it was given up")
    func loserIsVeryLate() throws {
        let first = try send(attempt: 1, at: 1)
        let second = try send(attempt: 2, at: 2)
        answer(second, at: 3)
        read(5, in: second, end: 4)
        answer(first, at: 6, givenUp: true)
        record.didEndBody(at: instant(7), in: first)
        #expect(record.timeline.sent == instant(2))
        #expect(record.timeline.bodyEnd == instant(4))
    }

    @Test("A losing attempt that is drained changes nothing, during the winner's body or after it")
    func loserIsDrained() throws {
        let progress = Progress()
        record.onProgress { progress.take($0) }
        let first = try send(attempt: 1, at: 1)
        let second = try send(attempt: 2, at: 2)
        answer(first, at: 3)
        answer(second, at: 4)
        record.didReceive(bytes: 5, in: first)
        record.didReceive(bytes: 100, in: second)
        #expect(progress.last?.bytesReceived == 5)
        read(2, in: first, end: 6)
        read(100, in: second, end: 7)
        #expect(record.timeline.bodyBytesReceived == 7)
        #expect(record.timeline.bodyEnd == instant(6))
        #expect(progress.last?.bytesReceived == 7)
    }

    @Test("Another attempt that is sent after the first head is not what the timeline describes")
    func sentLate() throws {
        let first = try send(attempt: 1, at: 1)
        answer(first, at: 3)
        let second = try send(attempt: 2, at: 4)
        record.take([.connected(at: instant(5), isReused: true, peer: "late")], ofAttempt: 2)
        read(5, in: first, end: 6)
        record.take([.firstByte(at: instant(7))], ofAttempt: 2)
        answer(second, at: 8, givenUp: true)
        #expect(record.timeline.head == instant(3))
        #expect(record.timeline.bodyEnd == instant(6))
        #expect(record.timeline.peerAddress == nil)
        #expect(record.timeline.firstByte == nil)
    }

    @Test("Reports of an attempt that is answered first are not lost to one that was sent later")
    func reports() throws {
        let first = try send(attempt: 1, at: 1)
        _ = try send(attempt: 2, at: 2)
        record.take([.connected(at: instant(3), isReused: false, peer: "first")], ofAttempt: 1)
        #expect(record.timeline.peerAddress == nil)
        answer(first, at: 4)
        #expect(record.timeline.peerAddress == "first")
    }

    @Test("The response that a call returns decides, if nothing of it was read")
    func chosen() throws {
        let first = try send(attempt: 1, at: 1)
        let second = try send(attempt: 2, at: 2)
        answer(first, at: 3)
        answer(second, at: 4)
        #expect(record.timeline.head == instant(3))
        record.didChoose(second)
        #expect(record.timeline.head == instant(4))
        record.didChoose(nil)
        record.didChoose(99)
        #expect(record.timeline.head == instant(4))
    }

    @Test("An exchange that follows another one replaces it")
    func sequence() throws {
        let first = try send(attempt: 1, at: 1)
        answer(first, at: 2)
        read(3, in: first, end: 3)
        let second = try send(attempt: 1, at: 4)
        #expect(record.timeline.sent == instant(4))
        #expect(record.timeline.bodyBytesReceived == 0)
        answer(second, at: 5)
        read(7, in: second, end: 6)
        #expect(record.timeline.bodyBytesReceived == 7)
        #expect(record.sends == 2)
    }
}

private final class Progress: Sendable {
    private let kept = Mutex<TransferProgress?>(nil)

    var last: TransferProgress? { kept.withLock { $0 } }

    func take(_ progress: TransferProgress) { kept.withLock { $0 = progress } }
}
