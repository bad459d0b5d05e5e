package import Foundation

/// Bytes of a body on their way to its reader.
///
/// Each is made `Data`, or dropped, once.
package enum BodyChunk: Sendable {
    case data(Data)
    case foreign(ForeignBytes)

    var count: Int {
        switch self {
        case .data(let data): data.count
        case .foreign(let bytes): bytes.count
        }
    }

    func data() -> Data {
        switch self {
        case .data(let data): data
        case .foreign(let bytes): bytes.data()
        }
    }

    func drop() {
        if case .foreign(let bytes) = self { bytes.free() }
    }
}

/// Memory that a library gave away, and how it gets it back.
// SAFETY: the memory belongs to this value, which becomes `Data` or is freed once.
@safe package struct ForeignBytes: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    let count: Int
    private let giveBack: @Sendable (UnsafeMutableRawPointer) -> Void

    // As much is copied: that costs less than the parts of `Data` that know of foreign memory.
    private static let small = 4096

    package init(
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
