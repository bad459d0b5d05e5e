/// What each byte means to a search, and the search itself.
///
/// Contents of many mebibytes come by here, in debug builds too, where each look into an array is a
/// call: pointers cost a fifth of that.
struct ByteTable: Sendable {
    private let flags: [UInt8]

    /// - Parameter flag: What a byte means: bits of a mask.
    init(_ flag: (UInt8) -> UInt8) { flags = (0...255).map(flag) }

    subscript(byte: UInt8) -> UInt8 { flags[Int(byte)] }

    /// The first place at or behind another one whose byte has a flag of a mask; else the end.
    func first(_ mask: UInt8 = 1, in bytes: [UInt8], from start: Int = 0) -> Int {
        unsafe withFlags(bytes) { text, count, flags in
            var place = start
            while place < count, unsafe flags[Int(text[place])] & mask == 0 { place += 1 }
            return place
        }
    }

    /// The flags of all bytes together.
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

    /// Runs a search over bytes; the place of a byte and the byte are not checked there.
    @inline(__always)
    func withFlags<Result>(
        _ bytes: [UInt8],
        _ body: (_ text: UnsafePointer<UInt8>, _ count: Int, _ flags: UnsafePointer<UInt8>) ->
            Result
    ) -> Result {
        unsafe bytes.withUnsafeBufferPointer { text in
            unsafe flags.withUnsafeBufferPointer { flags in
                // An empty array may have no address; nothing is read of it then.
                let table = unsafe flags.baseAddress.unsafelyUnwrapped
                return unsafe body(text.baseAddress ?? table, text.count, table)
            }
        }
    }
}
