// SPDX-License-Identifier: Apache-2.0

extension Data {
    /// Returns the first position of a sequence of at least one byte, or nil.
    public func firstPlace(of bytes: Data) -> Int? {
        let offset = unsafe withUnsafeBytes { content -> Int? in
            unsafe bytes.withUnsafeBytes { wanted in
                guard let first = unsafe wanted.first, content.count >= wanted.count else {
                    return nil
                }
                return (0...content.count - wanted.count).first { place in
                    unsafe content[place] == first
                        && content[place...].prefix(wanted.count).elementsEqual(wanted)
                }
            }
        }
        return offset.map { startIndex + $0 }
    }
}
