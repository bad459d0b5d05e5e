// SPDX-License-Identifier: Apache-2.0

import Foundation

extension ResponseBodyStorage {
    /// Reads all of the body into memory, up to a limit.
    func collect(upTo maxBytes: Int) async throws -> Data {
        try begin()
        if let length, length > maxBytes { try refuse(maxBytes) }
        var collected: Data?
        while true {
            let chunk: Data?
            switch try takeReady() {
            case .chunk(let ready): chunk = ready
            case .end: chunk = nil
            case .notYet: chunk = try await waitForChunk()
            }
            guard let chunk else { return collected ?? Data() }
            if collected == nil { collected = chunk } else { collected?.append(chunk) }
            if collected?.count ?? 0 > maxBytes { try refuse(maxBytes) }
        }
    }

    private func refuse(_ maxBytes: Int) throws {
        let size = length.map { $0 > maxBytes ? " of \($0) bytes" : "" } ?? ""
        try fail(
            ClientError(
                .tooLarge,
                "the response body\(size) is larger than \(maxBytes) bytes; stream it, or raise the"
                    + " limit"))
    }
}
