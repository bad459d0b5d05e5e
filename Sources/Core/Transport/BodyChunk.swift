// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Bytes of a body on their way to the reader.
///
/// Each chunk is converted to `Data` or dropped, exactly once.
public enum BodyChunk: Sendable {
    /// Bytes in `Data`.
    case data(Data)
    /// Bytes in memory that belongs to another library.
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
