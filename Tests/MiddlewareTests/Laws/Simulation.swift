import Foundation
import Synchronization
import Testing
import TurnpikeCore
import TurnpikeTesting

/// Virtual time that moves by itself: whenever all that is under way waits, the next timer fires.
///
/// Timers are of two kinds. What a call waits for (a delay, a back-off) parks it; limits, told by
/// their durations, only stand by. Time moves when as many are parked as sends are under way, so
/// that a run depends on its seed alone.
final class Simulation: TimeSource {
    private struct State {
        var parked = 0
        var active = 0
        // A limit has fired; what it ends must be heard of before time moves on.
        var isEnding = false
        var isOver = false
        var isFinished = false
        var driver: CheckedContinuation<Void, Never>?
    }

    let clock = ManualClock()
    private let deadline: Duration?
    private let limits: Set<Duration>
    private let state = Mutex(State())

    /// Creates a simulation.
    /// - Parameters:
    ///   - deadline: The call's deadline: once it has fired, time stands still.
    ///   - limits: The durations of other limits.
    init(deadline: Duration? = nil, limits: Set<Duration> = []) {
        self.deadline = deadline
        // What a response that is given up may take to drain.
        self.limits = limits.union([.milliseconds(100)])
    }

    var now: MonotonicInstant { clock.now }
    var date: Date { clock.date }

    func schedule(
        after delay: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> any TimerToken {
        if delay == deadline {
            return clock.schedule(after: delay) { [self] in
                change { $0.isOver = true }
                handler()
            }
        }
        if limits.contains(delay) {
            return clock.schedule(after: delay) { [self] in
                change { $0.isEnding = true }
                handler()
            }
        }
        let parking = Parking { [self] in
            change { state in
                state.parked -= 1
                state.isEnding = false
            }
        }
        parking.token = clock.schedule(after: delay) {
            parking.end()
            handler()
        }
        change { $0.parked += 1 }
        return parking
    }

    /// A send has begun.
    func began() { change { $0.active += 1 } }

    /// A send has ended.
    func ended() {
        change { state in
            state.active -= 1
            state.isEnding = false
        }
    }

    /// All is done.
    func finish() { change { $0.isFinished = true } }

    /// Moves time until all is done.
    func drive() async {
        while true {
            await withCheckedContinuation { continuation in
                change { $0.driver = continuation }
            }
            if state.withLock({ $0.isFinished }) { return }
            clock.advanceToNextTimer()
        }
    }

    private func change(_ body: @Sendable (inout State) -> Void) {
        let driver = state.withLock { state -> CheckedContinuation<Void, Never>? in
            body(&state)
            let isStill = state.parked > 0 && state.parked >= state.active && !state.isEnding
            guard state.isFinished || (isStill && !state.isOver) else { return nil }
            defer { state.driver = nil }
            return state.driver
        }
        driver?.resume()
    }
}

private final class Parking: TimerToken {
    private let isOpen = Atomic(true)
    private let inner = Mutex<(any TimerToken)?>(nil)
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    var token: (any TimerToken)? {
        get { inner.withLock { $0 } }
        set { inner.withLock { $0 = newValue } }
    }

    func end() { if isOpen.exchange(false, ordering: .relaxed) { onEnd() } }

    func cancel() {
        token?.cancel()
        end()
    }
}

/// A transport whose sends a simulation hears of, and whose bodies are counted.
final class SimulatedTransport: Transport {
    /// One send: when it began and how it ended.
    struct Send: Sendable {
        let request: Request
        let begin: MonotonicInstant
        var end: MonotonicInstant?
        var head: ResponseHead?
        var error: (any Error)?
        var bodyEnds = 0
    }

    let capabilities = TransportCapabilities(rawValue: .max)
    private let simulation: Simulation
    private let mock: MockTransport
    private let log = Mutex<[Send]>([])

    init(_ simulation: Simulation, _ answer: @escaping @Sendable (Request) -> MockResponse) {
        self.simulation = simulation
        mock = MockTransport(recordLimit: 0) { answer($0) }
    }

    var sends: [Send] { log.withLock { $0 } }

    func send(_ request: Request, context: Context) async throws -> Response {
        let index = log.withLock { log in
            log.append(Send(request: request, begin: simulation.now))
            return log.count - 1
        }
        simulation.began()
        defer { simulation.ended() }
        do {
            let response = try await mock.send(request, context: context)
            update(index) { $0.head = response.head }
            response.body.onEnd { [self] _ in update(index) { $0.bodyEnds += 1 } }
            return response
        } catch {
            update(index) { $0.error = error }
            throw error
        }
    }

    func shutdown() async {}

    private func update(_ index: Int, _ change: @Sendable (inout Send) -> Void) {
        log.withLock { log in
            if log[index].end == nil { log[index].end = simulation.now }
            change(&log[index])
        }
    }
}

/// Chance for one run of a law.
struct Dice {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func roll(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &generator)
    }

    mutating func chance(_ part: Double) -> Bool {
        Double.random(in: 0..<1, using: &generator) < part
    }

    mutating func one<Choices: Collection>(of choices: Choices) -> Choices.Element {
        choices[choices.index(choices.startIndex, offsetBy: roll(0...(choices.count - 1)))]
    }
}

/// How often a law is tried, and the seeds of the runs.
enum Law {
    static let runs: Range<UInt64> = 0..<10_000

    static func seed(_ run: UInt64) -> UInt64 { 0x7475_726E_7069_6B65 &+ run }

    /// Records an issue with the run's seed where a condition does not hold; cheaper than `#expect`
    /// for millions of them.
    static func holds(
        _ condition: Bool, _ run: UInt64, _ what: @autoclosure () -> String = "the law",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        if condition { return }
        Issue.record(
            "seed \(seed(run)): \(what()) does not hold", sourceLocation: sourceLocation)
    }
}
