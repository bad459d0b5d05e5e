// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// A set of statuses: ranges and single codes.
///
/// ```swift
/// .validate(status: [200, 404])
/// .validate(status: .range(200..<400))
/// ```
public struct StatusSet: Sendable, Hashable, ExpressibleByArrayLiteral {
    private let ranges: [ClosedRange<Int>]

    /// Creates a set of status codes.
    public init(arrayLiteral codes: Int...) { ranges = codes.map { $0...$0 } }

    /// Creates a set of ranges of status codes.
    public init(_ ranges: [ClosedRange<Int>]) { self.ranges = ranges }

    /// The codes 200 to 299.
    public static let successful = StatusSet([200...299])

    /// Returns the set of all codes of a range.
    public static func range(_ range: Range<Int>) -> StatusSet {
        StatusSet(range.isEmpty ? [] : [range.lowerBound...range.upperBound - 1])
    }

    func contains(_ status: HTTPStatus) -> Bool {
        ranges.contains { $0.contains(status.code) }
    }
}
