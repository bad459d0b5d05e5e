// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension Hedge {
    /// The durations of attempts to each origin, over the last 30 to 60 seconds.
    public final class Latencies: Sendable {
        fileprivate let histograms = Mutex(BoundedMap<Origin, LatencyHistogram>())

        /// Creates a record without measurements.
        public init() {}
    }
}

extension Hedge.Latencies {
    func record(_ elapsed: Duration, _ origin: Origin, at now: MonotonicInstant) {
        histograms.withLock { histograms in
            histograms.update(origin, orMake: LatencyHistogram()) { $0.record(elapsed, at: now) }
        }
    }

    /// The time that a share of the attempts did not exceed, or nil with too few measurements.
    func percentile(_ part: Double, _ origin: Origin, at now: MonotonicInstant) -> Duration? {
        let value = histograms.withLock { histograms in
            histograms.updateIfPresent(origin) { $0.percentile(part, at: now) }
        }
        return value ?? nil
    }
}

/// Counts of durations.
///
/// The width of each bucket is about a fifth of the bucket's duration. At the begin of each half
/// minute, the older of two counts is dropped.
struct LatencyHistogram: BoundedMapEntry {
    private var present = [UInt32](repeating: 0, count: Self.bucketCount)
    private var past = [UInt32](repeating: 0, count: Self.bucketCount)
    private var presentCount = 0
    private var pastCount = 0
    private var turn: MonotonicInstant?
    // The last result, which is reused for a number of records.
    private var cached: (part: Double, value: Duration?, uses: Int)?

    private static let bucketCount = 128
    private static let halfMinute = Duration.seconds(30)
    private static let enough = 20

    var isInUse: Bool { false }

    mutating func record(_ elapsed: Duration, at now: MonotonicInstant) {
        rotate(at: now)
        present[Self.bucket(of: elapsed)] &+= 1
        presentCount += 1
        if let uses = cached?.uses { cached?.uses = uses - 1 }
        if cached?.uses == 0 { cached = nil }
    }

    mutating func percentile(_ part: Double, at now: MonotonicInstant) -> Duration? {
        rotate(at: now)
        if let cached, cached.part == part { return cached.value }
        let count = presentCount + pastCount
        let value = count < Self.enough ? nil : quantile(part, of: count)
        cached = (part, value, uses: value == nil ? 1 : 16)
        return value
    }

    private func quantile(_ part: Double, of count: Int) -> Duration {
        let wanted = max(Int((part * Double(count)).rounded(.up)), 1)
        var passed = 0
        for index in 0..<Self.bucketCount {
            passed += Int(present[index]) + Int(past[index])
            if passed >= wanted { return Self.upperEdge(of: index) }
        }
        return Self.upperEdge(of: Self.bucketCount - 1)
    }

    private mutating func rotate(at now: MonotonicInstant) {
        guard let turn else {
            self.turn = now.advanced(by: Self.halfMinute)
            return
        }
        guard now >= turn else { return }
        let isLong = now >= turn.advanced(by: Self.halfMinute)
        past = isLong ? [UInt32](repeating: 0, count: Self.bucketCount) : present
        pastCount = isLong ? 0 : presentCount
        present = [UInt32](repeating: 0, count: Self.bucketCount)
        presentCount = 0
        cached = nil
        self.turn = now.advanced(by: Self.halfMinute)
    }

    // Each doubling of microseconds has four buckets, up to an hour.
    static func bucket(of elapsed: Duration) -> Int {
        let micros = UInt64(max(elapsed.wholeNanoseconds / 1000, 0))
        guard micros >= 4 else { return Int(micros) }
        let exponent = 63 - micros.leadingZeroBitCount
        let quarter = Int(micros >> UInt64(exponent - 2)) & 3
        return min((exponent - 1) * 4 + quarter, bucketCount - 1)
    }

    static func upperEdge(of bucket: Int) -> Duration {
        guard bucket >= 4 else { return .microseconds(bucket + 1) }
        let exponent = bucket / 4 + 1
        return .microseconds(Int64(4 + bucket % 4 + 1) << Int64(exponent - 2))
    }
}
