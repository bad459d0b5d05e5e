// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The state that all contexts of one call share.
final class CallState: Sendable {
    let id: CallID
    let environment: CallEnvironment
    let record = CallRecord()
    let values = ContextValues()
    let cancelTree: CancelTree
    /// Records where the time of the call goes; nil for nearly all calls.
    let recorder: TraceRecorder?
    /// The context whose cancellation also cancels this call.
    let parent: Context?
    /// How many content bytes the call collects for its serializer.
    let collectedBytes: Int
    private let number: UInt64
    private let place: Int
    // Created on first use, because few calls need it.
    private let keptRandom = Mutex<CallRandom?>(nil)

    init(
        id: CallID, environment: CallEnvironment, number: UInt64 = 0, parent: Context? = nil,
        collectedBytes: Int = 0, recorder: TraceRecorder? = nil
    ) {
        self.recorder = recorder
        self.id = id
        self.environment = environment
        self.parent = parent
        self.collectedBytes = collectedBytes
        cancelTree = CancelTree(inside: parent)
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

    // Contexts and open bodies hold the call, so it ends when the last of them is released.
    deinit {
        cancelTree.close()
        environment.running.remove(place)
    }
}
