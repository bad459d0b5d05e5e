import Synchronization

/// A call's identifier: unique within its client, and very probably across clients.
public struct CallID: Hashable, Sendable, CustomStringConvertible {
    private let client: UInt32
    /// The number of the call in its client, starting at 1.
    public let number: UInt64

    package init(client: UInt32, number: UInt64) {
        self.client = client
        self.number = number
    }

    /// The client's part and the number of the call: `5f0c2a1b-42`.
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
    let running = OpenCalls()

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
    /// The context whose cancellation also cancels this call.
    let parent: Context?
    /// How many content bytes the call collects for its serializer.
    let collectedBytes: Int
    private let number: UInt64
    private let place: Int
    // Created on first use, because few calls need it.
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

    // Contexts and open bodies hold the call, so it ends when the last of them is released.
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

    /// A number in 0..<1 that is constant for the call and does not affect the results of
    /// ``next()``.
    public var share: Double {
        kept.withLock { kept in
            if let kept { return kept }
            // A separate stream of the random source: the numbers of calls count up from 0.
            var generator = source.generator(forCall: call ^ 1 << 63)
            let share = generator.unit()
            kept = share
            return share
        }
    }

    /// Returns the next 64 random bits.
    public func next() -> UInt64 {
        generator.withLock { generator in
            var current = generator ?? source.generator(forCall: call)
            let bits = current.next()
            generator = current
            return bits
        }
    }

    /// Returns a uniformly distributed number in 0..<1.
    public func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
