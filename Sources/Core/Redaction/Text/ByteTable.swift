// SPDX-License-Identifier: Apache-2.0

/// Flags for each byte value, and searches that use them.
///
/// Content of many mebibytes is searched here, also in debug builds, where each array access is a
/// call. Pointers cost a fifth of that.
struct ByteTable: Sendable {
    private let flags: [UInt8]

    /// - Parameter flag: Returns the flags of a byte as a bit mask.
    init(_ flag: (UInt8) -> UInt8) { flags = (0...255).map(flag) }

    subscript(byte: UInt8) -> UInt8 { flags[Int(byte)] }

    /// Returns the first position at or after `start` whose byte has a flag of `mask`, or the end.
    func first(_ mask: UInt8 = 1, in bytes: [UInt8], from start: Int = 0) -> Int {
        unsafe withFlags(bytes) { text, count, flags in
            var place = start
            while place < count, unsafe flags[Int(text[place])] & mask == 0 { place += 1 }
            return place
        }
    }

    /// The flags of all bytes, combined.
    func union(of bytes: [UInt8]) -> UInt8 {
        unsafe withFlags(bytes) { text, count, flags in
            var union: UInt8 = 0
            var place = 0
            while place < count {
                unsafe union |= flags[Int(text[place])]
                place += 1
            }
            return union
        }
    }

    /// Runs a search over bytes and flags.
    ///
    /// The body must check its own bounds.
    @inline(__always)
    func withFlags<Result>(
        _ bytes: [UInt8],
        _ body: (_ text: UnsafePointer<UInt8>, _ count: Int, _ flags: UnsafePointer<UInt8>) ->
            Result
    ) -> Result {
        unsafe bytes.withUnsafeBufferPointer { text in
            unsafe flags.withUnsafeBufferPointer { flags in
                // An empty array may have no address; nothing is read from it.
                let table = unsafe flags.baseAddress.unsafelyUnwrapped
                return unsafe body(text.baseAddress ?? table, text.count, table)
            }
        }
    }
}
