// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore
import TurnpikeSupport

/// Content in memory.
public struct CachedData: CachedContent {
    /// The bytes.
    public let data: Data

    /// Creates content.
    public init(_ data: Data) { self.data = data }

    /// The number of bytes.
    public var length: Int64 { Int64(data.count) }

    /// A body of these bytes.
    public func body(_ range: Range<Int64>) -> ResponseBody {
        if range.count64 == length { return ResponseBody(data) }
        let start = data.startIndex + Int(range.lowerBound)
        return ResponseBody(data[start..<(start + Int(range.count64))])
    }
}

extension Data {
    /// A copy of just these bytes, which keeps neither a transport's buffer nor room to grow.
    var exact: Data { unsafe withUnsafeBytes { unsafe Data($0) } }
}
