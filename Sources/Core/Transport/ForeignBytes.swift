// SPDX-License-Identifier: Apache-2.0

import Foundation

// SAFETY: the memory belongs to this value, which is converted to `Data` or freed, exactly once.
/// Memory that a library handed over, with a closure that releases it.
@safe public struct ForeignBytes: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    let count: Int
    private let giveBack: @Sendable (UnsafeMutableRawPointer) -> Void

    // Up to this size the bytes are copied, which costs less than a `Data` with a deallocator.
    private static let small = 4096

    /// Takes ownership of memory.
    /// - Parameters:
    ///   - start: The address of the first byte.
    ///   - count: The number of bytes.
    ///   - giveBack: Frees the memory; called once.
    public init(
        start: UnsafeMutableRawPointer, count: Int,
        giveBack: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        unsafe self.start = start
        self.count = count
        unsafe self.giveBack = unsafe giveBack
    }

    func data() -> Data {
        guard count > Self.small else {
            defer { free() }
            return unsafe Data(bytes: start, count: count)
        }
        return unsafe Data(
            bytesNoCopy: start, count: count,
            deallocator: .custom { [giveBack] bytes, _ in unsafe giveBack(bytes) })
    }

    func free() { unsafe giveBack(start) }
}
