// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The state that all contexts of one call share.
final class CallState: Sendable {
    let id: CallID
    let environment: CallEnvironment
    let record: CallRecord
    let values = ContextValues()
    let stream: CallStream?
    let parent: Context?
    let collectedBytes: Int
    private let number: UInt64
    private let place: Int
    // The object is created at the first use, because few calls need random numbers.
    private let keptRandom = Mutex<CallRandom?>(nil)

    init(
        id: CallID, environment: CallEnvironment, number: UInt64 = 0, parent: Context? = nil,
        collectedBytes: Int = 0, stream: CallStream? = nil
    ) {
        self.stream = stream
        self.id = id
        self.environment = environment
        self.parent = parent
        record = CallRecord(inside: parent?.call.record)
        self.collectedBytes = collectedBytes
        self.number = number
        place = environment.running.add(id, record)
    }

    var random: CallRandom {
        keptRandom.withLock { kept in
            if let kept { return kept }
            let random = CallRandom(source: environment.randomSource, call: number)
            kept = random
            return random
        }
    }

    // The call ends when the last context and the last open body are released.
    deinit {
        record.cancelTree.close()
        environment.running.remove(place)
    }
}

extension CallState: ResponseBodyListener {
    func didReceive(bytes: Int, in exchange: Int) { record.didReceive(bytes: bytes, in: exchange) }

    func didEndBody(of exchange: Int) {
        record.didEndBody(at: environment.timeSource.now, in: exchange)
    }
}

extension CallRecord: ResponseHistory {
    func completed(_ error: ClientError, of head: ResponseHead) -> ClientError {
        let full = error.completed(
            sent: lastSent, response: head, attempts: sends, history: history)
        return error.sent == nil ? placed(full) : full
    }

    func completed(_ error: any Error) -> any Error { completed(error, at: nil) }
}

final class CallEnvironment: Sendable {
    let timeSource: any TimeSource
    let randomSource: any RandomSource
    let baseOrigin: Origin?
    let running = OpenCalls()

    init(
        timeSource: any TimeSource, randomSource: any RandomSource, baseOrigin: Origin? = nil
    ) {
        self.timeSource = timeSource
        self.randomSource = randomSource
        self.baseOrigin = baseOrigin
    }
}
