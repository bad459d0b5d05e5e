// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

@testable import TurnpikeAuthentication
@testable import TurnpikeCore

/// An authorization server whose refresh tokens are good for once, and a guarded resource.
///
/// A refresh token is spent when the request comes, and its successor stands in the answer alone. A
/// spent token that comes again signs everybody out, as RFC 9700 §4.14.2 recommends.
final class RotatingTokenServer: Sendable {
    private struct State {
        var number = 0
        var isSignedOut = false
        var forms: [String] = []
    }

    private let state = Mutex(State())
    private let delay: Duration

    /// Creates a server.
    /// - Parameter delay: How long it takes over the answer to a refresh.
    init(answeringAfter delay: Duration = .zero) { self.delay = delay }

    /// What the refreshes asked with, in order.
    var forms: [String] { state.withLock { $0.forms } }

    /// Whether a spent token came.
    var isSignedOut: Bool { state.withLock { $0.isSignedOut } }

    /// A transport to this server.
    func transport() -> MockTransport {
        MockTransport(recordLimit: 0) { [self] request in
            if request.url.path() == "/token" { return refresh(request.body.inMemory ?? Data()) }
            let isGood = state.withLock { state in
                state.number > 0 && !state.isSignedOut
                    && request.headers[.authorization] == "Bearer a\(state.number)"
            }
            return isGood ? .ok(text: "in") : .status(401)
        }
    }

    private func refresh(_ content: Data) -> MockResponse {
        let form = String(decoding: content, as: UTF8.self)
        return state.withLock { state in
            state.forms.append(form)
            guard form.split(separator: "&").contains("refresh_token=r\(state.number)"),
                !state.isSignedOut
            else {
                state.isSignedOut = true
                return .status(400, json: ["error": "invalid_grant"]).delayed(by: delay)
            }
            state.number += 1
            return .ok(
                json: [
                    "access_token": .string("a\(state.number)"),
                    "refresh_token": .string("r\(state.number)"),
                ]
            ).delayed(by: delay)
        }
    }
}
