// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

import TurnpikeSupport

@testable import TurnpikeCore

@Suite("SystemTimeSource")
struct SystemTimeSourceTests {
    private let source = SystemTimeSource()

    @Test("Handlers run once, in the order of their times, and never early")
    func order() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: (Int, Bool).self)
        // A busy machine may stand still between two of them.
        var dues: [ClosedRange<MonotonicInstant>] = []
        for (number, delay) in [9, 3, 6, 1, 3].enumerated() {
            let earliest = source.now.advanced(by: .milliseconds(delay))
            _ = source.schedule(after: .milliseconds(delay)) { [source] in
                continuation.yield((number, source.now >= earliest))
            }
            dues.append(earliest...source.now.advanced(by: .milliseconds(delay)))
        }
        var seen: [Int] = []
        for await (number, isOnTime) in stream.prefix(5) {
            #expect(isOnTime)
            seen.append(number)
        }
        #expect(seen.sorted() == [0, 1, 2, 3, 4])
        for (place, number) in seen.enumerated() {
            for later in seen[place...] {
                #expect(dues[number].lowerBound <= dues[later].upperBound)
            }
        }
    }

    @Test("Cancelled handlers never run, whatever their order in the heap")
    func cancelling() async throws {
        let ran = Mutex<Set<Int>>([])
        var random = SeededGenerator(seed: 3)
        var timers: [(number: Int, due: MonotonicInstant, token: any TimerToken)] = []
        for number in 0..<500 {
            let delay = Duration.milliseconds(Int.random(in: 20...40, using: &random))
            let due = source.now.advanced(by: delay)
            let token = source.schedule(after: delay) { ran.withLock { _ = $0.insert(number) } }
            timers.append((number, due, token))
        }
        timers.shuffle(using: &random)
        // On a machine that stands still for 20 ms, a timer may be due before it is cancelled.
        var inTime: Set<Int> = []
        for timer in timers[..<250] {
            timer.token.cancel()
            if source.now < timer.due { inTime.insert(timer.number) }
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        _ = source.schedule(after: .milliseconds(60)) { continuation.yield() }
        for await _ in stream.prefix(1) {}
        let seen = ran.withLock { $0 }
        #expect(seen.isDisjoint(with: inTime))
        #expect(seen.isSuperset(of: timers[250...].map(\.number)))
    }

    @Test("The captures of a handler are released when its timer is cancelled")
    func release() {
        final class Thing: Sendable {}
        weak var thing: Thing?
        let token: any TimerToken
        do {
            let strong = Thing()
            thing = strong
            token = source.schedule(after: .seconds(3600)) { _ = strong }
        }
        #expect(thing != nil)
        token.cancel()
        #expect(thing == nil)
    }

    @Test("Huge and negative delays do not trap")
    func extremes() {
        let far = source.schedule(after: .seconds(Int64.max)) {}
        far.cancel()
        let past = source.schedule(after: .seconds(-5)) {}
        past.cancel()
        #expect(
            MonotonicInstant(nanoseconds: 5).advanced(by: .seconds(Int64.max)).nanoseconds == .max)
        #expect(
            MonotonicInstant(nanoseconds: .min).duration(to: MonotonicInstant(nanoseconds: .max))
                > .zero)
    }

    @Test(
        "A duration is written in one form, with three digits that count and all whole seconds",
        arguments: [
            (.zero, "0 s"), (.nanoseconds(400), "0 s"), (.nanoseconds(600), "1 µs"),
            (.microseconds(312), "312 µs"), (.nanoseconds(999_600), "1 ms"),
            (.microseconds(4204), "4.2 ms"), (.microseconds(42_040), "42 ms"),
            (.microseconds(12_512), "12.5 ms"), (.milliseconds(100), "100 ms"),
            (.microseconds(999_499), "999 ms"), (.microseconds(999_500), "1 s"),
            (.milliseconds(1500), "1.5 s"), (.milliseconds(1050), "1.05 s"), (.seconds(3), "3 s"),
            (.milliseconds(93_500), "93.5 s"), (.milliseconds(99_960), "100 s"),
            (.milliseconds(2_661_500), "2662 s"), (.seconds(86_400), "86400 s"),
            (.milliseconds(-500), "-500 ms"), (.milliseconds(-1500), "-1.5 s"),
            (.seconds(Int64.max), "9223372036854775807 s"),
            (.seconds(Int64.min), "-9223372036854775808 s"),
        ] as [(Duration, String)])
    func text(duration: Duration, text: String) {
        #expect(duration.text == text)
    }
}
