import Synchronization

/// A call's identifier: unique in its client, and with a high chance among clients.
public struct CallID: Hashable, Sendable, CustomStringConvertible {
    private let client: UInt32
    package let number: UInt64

    package init(client: UInt32, number: UInt64) {
        self.client = client
        self.number = number
    }

    /// The client's part and the call's number: `5f0c2a1b-42`.
    public var description: String {
        let digits = String(client, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits + "-\(number)"
    }
}

/// What all calls of a client share.
package final class CallEnvironment: Sendable {
    package let timeSource: any TimeSource
    package let randomSource: any RandomSource
    let baseOrigin: Origin?
    let running = RunningCalls()

    package init(
        timeSource: any TimeSource, randomSource: any RandomSource, baseOrigin: Origin? = nil
    ) {
        self.timeSource = timeSource
        self.randomSource = randomSource
        self.baseOrigin = baseOrigin
    }
}

/// What all contexts of one call share.
package final class CallState: Sendable {
    package let id: CallID
    package let environment: CallEnvironment
    package let record = CallRecord()
    let values = ContextValues()
    let cancelTree: CancelTree
    /// The context whose cancellation ends the call.
    let parent: Context?
    /// How much of the content the call's terminal collects.
    let collectedBytes: Int
    private let number: UInt64
    private let place: Int
    // Made when it is asked for, for few calls have a use of it.
    private let keptRandom = Mutex<CallRandom?>(nil)

    package init(
        id: CallID, environment: CallEnvironment, number: UInt64 = 0, parent: Context? = nil,
        collectedBytes: Int = 0
    ) {
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

    // Contexts and open bodies hold the call, so this is its end, however it came.
    deinit {
        cancelTree.close()
        environment.running.remove(place)
    }
}

/// The random generator of one call, safe to share between its attempts.
public final class CallRandom: Sendable {
    private let source: any RandomSource
    private let call: UInt64
    private let generator = Mutex<(any RandomNumberGenerator & Sendable)?>(nil)
    private let kept = Mutex<Double?>(nil)

    init(source: any RandomSource, call: UInt64) {
        self.source = source
        self.call = call
    }

    /// A number in 0..<1 that stands for the call: the same whenever it is asked for, and without
    /// effect on what ``next()`` gives.
    public var share: Double {
        kept.withLock { kept in
            if let kept { return kept }
            // No call's own number: those count from 0.
            var generator = source.generator(forCall: call ^ 1 << 63)
            let share = generator.unit()
            kept = share
            return share
        }
    }

    /// The next 64 random bits.
    public func next() -> UInt64 {
        generator.withLock { generator in
            var current = generator ?? source.generator(forCall: call)
            let bits = current.next()
            generator = current
            return bits
        }
    }

    /// A number in 0..<1, uniformly.
    public func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
