// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// Parses the response of a token endpoint (RFC 6749 §5.1).
enum TokenAnswer {
    static let maxBytes = 65_536
    private static let maxTokenBytes = 16_384
    private static let maxLife: TimeInterval = 10 * 365 * 86_400

    static func token(
        from content: Data, status: HTTPStatus, date: Date
    ) throws -> BearerToken {
        guard let answer = (try? JSONValue(parsing: content))?.object,
            let access = answer["access_token"]?.string, isToken(access)
        else {
            // Some servers report an error with status 200.
            throw OAuthError(status: status, content: content)
        }
        // Some servers omit the type; a token of a type other than Bearer could not be used.
        if let type = answer["token_type"]?.string, type.lowercased() != "bearer" {
            throw OAuthError(.invalidResponse, status: status)
        }
        let refresh = answer["refresh_token"]?.string.flatMap { isToken($0) ? $0 : nil }
        return BearerToken(
            access, expires: life(answer["expires_in"]).map(date.addingTimeInterval),
            refreshToken: refresh)
    }

    // Some servers write the number as a string.
    private static func life(_ value: JSONValue?) -> TimeInterval? {
        guard let seconds = value?.double ?? value?.string.flatMap({ TimeInterval($0) }),
            seconds >= 0
        else { return nil }
        return min(seconds, maxLife)
    }

    // RFC 6749 §A.12; a space would end the token in a field value.
    static func isToken(_ text: String) -> Bool {
        (1...maxTokenBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
