import Foundation
import TurnpikeCore

extension ResponseBody {
    /// The first bytes, for an error that shows them; the rest is given up.
    ///
    /// What breaks off shows what came before.
    /// - Throws: `CancellationError` where the task is cancelled.
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
            // The answer is refused in any case, and says more than the end of its content.
        }
        return kept
    }
}
