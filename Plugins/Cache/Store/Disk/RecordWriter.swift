import Foundation

/// Numbers and texts as bytes: lowest byte first, texts behind their length.
///
/// It looks after its memory by itself: an entry has dozens of numbers and texts, and an array would
/// be asked at each of them whether it is its owner's alone.
@safe struct RecordWriter: ~Copyable {
    // SAFETY: room for `capacity` bytes, the first `count` of which are initialized; nobody else has
    // it, and each use of it is within these bounds.
    private var start: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    /// Creates an empty one, with room for some bytes.
    init(capacity: Int = 64) {
        self.capacity = max(capacity, 64)
        unsafe start = .allocate(byteCount: self.capacity, alignment: 8)
    }

    deinit { unsafe start.deallocate() }

    /// Does something with the bytes, without a copy of them.
    func withBytes<Value>(
        _ action: (UnsafeRawBufferPointer) throws -> Value
    ) rethrows -> Value {
        try unsafe action(UnsafeRawBufferPointer(start: start, count: count))
    }

    mutating func add(_ value: UInt32) {
        unsafe room(4).storeBytes(of: value.littleEndian, as: UInt32.self)
    }

    mutating func add(_ value: UInt64) {
        unsafe room(8).storeBytes(of: value.littleEndian, as: UInt64.self)
    }

    mutating func add(_ text: String) {
        let isAdded: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            let start = unsafe room(4 + bytes.count)
            unsafe start.storeBytes(of: UInt32(bytes.count).littleEndian, as: UInt32.self)
            if let source = bytes.baseAddress {
                unsafe (start + 4).copyMemory(from: source, byteCount: bytes.count)
            }
        }
        if isAdded == nil { add(String(decoding: Array(text.utf8), as: UTF8.self)) }
    }

    mutating func add(_ text: String?) {
        add(UInt32(text == nil ? 0 : 1))
        if let text { add(text) }
    }

    mutating func add(_ data: Data) { unsafe data.withUnsafeBytes { unsafe add($0) } }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        unsafe room(bytes.count).copyMemory(from: source, byteCount: bytes.count)
    }

    mutating func addZeros(_ count: Int) {
        unsafe _ = room(count).initializeMemory(as: UInt8.self, repeating: 0, count: count)
    }

    /// Puts numbers over zeros that were added for them.
    mutating func set(_ numbers: UInt64..., at position: Int) {
        precondition(position >= 0 && position + 8 * numbers.count <= count)
        for (index, number) in numbers.enumerated() {
            unsafe (start + position + 8 * index).storeBytes(
                of: number.littleEndian, as: UInt64.self)
        }
    }

    mutating func removeAll(from position: Int) {
        precondition(0...count ~= position)
        count = position
    }

    /// The checksum of what was added from a position on, and of no more than a number of bytes.
    func checksum(from position: Int, most: Int = .max) -> UInt64 {
        precondition(0...count ~= position)
        return unsafe XXHash64.hash(
            UnsafeRawBufferPointer(start: start + position, count: min(most, count - position)))
    }

    // Where the next bytes go, which are to be written at once.
    private mutating func room(_ bytes: Int) -> UnsafeMutableRawPointer {
        if bytes > capacity - count { grow(bytes) }
        defer { count += bytes }
        return unsafe start + count
    }

    private mutating func grow(_ bytes: Int) {
        capacity = max(2 * capacity, count + bytes)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
        unsafe larger.copyMemory(from: start, byteCount: count)
        unsafe start.deallocate()
        unsafe start = larger
    }
}
