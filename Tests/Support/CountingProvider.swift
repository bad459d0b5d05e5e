// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
package import TurnpikeAuthentication
package import TurnpikeCore
import TurnpikeSupport

/// Gives t1, t2, … and counts; a test may say what else happens in a refresh.
package final class CountingProvider: BearerTokenProvider {
    private let begun = Mutex(0)
    private let life: Duration?
    package let spendsRefreshToken: Bool
    private let during: @Sendable (Int, TokenExchange) async throws -> Void

    /// Creates a provider.
    /// - Parameters:
    ///   - life: The life of its tokens.
    ///   - spendsRefreshToken: Whether a refresh may not be made twice.
    ///   - during: Runs in each refresh, with its number.
    package init(
        life: Duration? = nil, spendsRefreshToken: Bool = true,
        during: @escaping @Sendable (Int, TokenExchange) async throws -> Void = { _, _ in }
    ) {
        self.life = life
        self.spendsRefreshToken = spendsRefreshToken
        self.during = during
    }

    package var count: Int { begun.withLock { $0 } }

    package func token(
        replacing old: BearerToken?, by exchange: TokenExchange
    ) async throws -> BearerToken {
        let number = begun.withLock { begun in
            begun += 1
            return begun
        }
        try await during(number, exchange)
        return BearerToken("t\(number)", expires: life.map { exchange.date + $0.inSeconds })
    }
}

/// A server that accepts some tokens and answers 401 to all else.
package func guarded(
    _ isValid: @escaping @Sendable (String) -> Bool,
    challenge: String = #"Bearer error="invalid_token""#
) -> MockTransport {
    MockTransport(recordLimit: 5000) { request in
        if let field = request.headers[.authorization], isValid(String(field.dropFirst(7))) {
            return .ok(text: "in")
        }
        return .status(401, headers: ["WWW-Authenticate": challenge], body: Data("out".utf8))
    }
}
