// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

extension CacheCall {
    /// Sends a request that may change its target, and removes what is stored of it (RFC 9111 §4.4).
    func change() async throws -> Response {
        // Only the response to a POST may be stored.
        let mark = request.method == .post && keys.isStorable ? begin() : nil
        let outcome = await outcome(of: request, context)
        if let head = outcome.head, (200..<400).contains(head.status.code) {
            await forget(head, mark)
        }
        let response = try outcome.result.get()
        state.counts.add(.method)
        guard let mark, isOwnContent(response) else {
            return marked(response, .method, isStored: false)
        }
        let (recorded, isStored) = await record(response, mark, context)
        return marked(recorded, .method, isStored: isStored)
    }

    // Whether the response to a POST says that a GET of the same URL has the same response (RFC 9110
    // §9.3.3).
    private func isOwnContent(_ response: Response) -> Bool {
        let control = CacheControl(response.headers)
        guard response.status.isSuccessful, control.maxAge != nil,
            let location = response.headers[.contentLocation],
            let uri = TargetURI(reference: location, relativeTo: request.targetURI)
        else { return false }
        return keys.keys(of: uri).map(keys.isSameURL) ?? false
    }

    // Removes the caller's own entries and those that all share. Others' entries may not have changed.
    private func forget(_ head: ResponseHead, _ mark: Recordings.Mark?) async {
        var targets = [request.targetURI]
        for name in [HTTPHeaders.Name.location, .contentLocation] {
            // An origin may not remove another origin's responses.
            guard let text = head.headers[name],
                let uri = TargetURI(reference: text, relativeTo: request.targetURI),
                uri.origin == request.origin
            else { continue }
            targets.append(uri)
        }
        for uri in targets {
            for key in keys.keys(of: uri)?.all ?? [] {
                state.recordings.spoil(key, except: mark)
                _ = await state.attempt(context) { try await state.store.remove(key) }
            }
        }
        state.counts.tellUsage()
    }
}
