// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

extension ResponseBody {
    /// Returns the first bytes for use in an error and drops the rest.
    ///
    /// If the body breaks off, the bytes before are returned.
    /// - Throws: `CancellationError` if the task is cancelled.
    func beginning(upTo maxBytes: Int) async throws -> Data {
        var kept = Data()
        do {
            for try await chunk in self {
                kept.append(chunk.prefix(maxBytes - kept.count))
                if kept.count == maxBytes { break }
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            // The response is rejected in any case; that error says more than the broken body
            // would.
        }
        return kept
    }
}
