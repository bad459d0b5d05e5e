// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension Data {
    /// Returns the data with each occurrence of some bytes replaced by others.
    public func substituting(_ bytes: Data, with other: Data) -> Data {
        guard !bytes.isEmpty, range(of: bytes) != nil else { return self }
        var result = Data()
        var rest = self[...]
        while let place = rest.range(of: bytes) {
            result += rest[..<place.lowerBound] + other
            rest = rest[place.upperBound...]
        }
        return result + rest
    }
}
