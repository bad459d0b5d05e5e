import TurnpikeCore

/// A token of 2 to 16 bytes in two words, so that names are compared without regard to case in a few
/// instructions: each field of each message, and each directive, comes by here.
///
/// Letters are made small by setting one bit. That changes the hyphen and the digits not at all, and
/// makes nothing else that a token may hold a letter, a digit or a hyphen: what equals a name of
/// those is that name.
struct ShortName: Equatable {
    private let first: UInt64
    private let last: UInt64
    private let count: Int

    private static let smallLetters: UInt64 = 0x2020_2020_2020_2020

    /// The name that a text is, or nil where it is shorter or longer.
    init?(_ text: String) {
        let name = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe ShortName(UnsafeRawBufferPointer(bytes))
        }
        // The bytes of a text that came from another language may not stand together.
        guard let name = name ?? Self.copying(text) else { return nil }
        self = name
    }

    private static func copying(_ text: String) -> ShortName? {
        unsafe Array(text.utf8).withUnsafeBytes { unsafe ShortName($0) }
    }

    /// The name that bytes are, or nil where they are fewer or more.
    init?(_ bytes: UnsafeRawBufferPointer) {
        let count = bytes.count
        switch count {
        case 8...16:
            first = unsafe bytes.loadUnaligned(as: UInt64.self) | Self.smallLetters
            last =
                unsafe bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
                | Self.smallLetters
        case 4..<8:
            first = unsafe UInt64(bytes.loadUnaligned(as: UInt32.self)) | Self.smallLetters
            last =
                unsafe UInt64(bytes.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
                | Self.smallLetters
        case 2, 3:
            first = unsafe UInt64(bytes.loadUnaligned(as: UInt16.self)) | Self.smallLetters
            last = unsafe UInt64(bytes[count - 1]) | Self.smallLetters
        default: return nil
        }
        self.count = count
    }
}
