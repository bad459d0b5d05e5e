// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// A challenge of a server, from `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 §11.3).
public struct AuthenticationChallenge: Sendable, Hashable {
    /// One parameter.
    public struct Parameter: Sendable, Hashable {
        /// The name in lower case.
        public let name: String
        /// The value, without quotes and escapes.
        public let value: String
    }

    /// The authentication scheme in lower case: `basic`, `digest`, `bearer`.
    public let scheme: String
    /// The single value of a scheme without parameters, or nil.
    public let token68: String?
    /// The parameters in order; each name occurs once.
    public let parameters: [Parameter]

    /// The value of a parameter, or nil if there is none.
    /// - Parameter name: The name in lower case.
    public subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The name of the protection space, or nil.
    var realm: String? { self["realm"] }

    /// The challenges of a response, in order, from one field line or several.
    ///
    /// The syntax is parsed strictly, and its size is bounded: 32 challenges of 32 parameters each,
    /// in lines of at most 16 KiB. In each line, the challenges before a syntax error or a bound
    /// count; the challenge with the error, and everything after it, do not.
    /// - Parameters:
    ///   - headers: The fields of the response.
    ///   - name: The field.
    /// - Returns: At most 32 challenges.
    public static func challenges(
        in headers: HTTPHeaders, name: HTTPHeaders.Name = .wwwAuthenticate
    ) -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        for field in headers where field.name == name {
            var parser = ChallengeParser(field.value)
            challenges += parser.challenges(upTo: ChallengeParser.maxChallenges - challenges.count)
            if challenges.count >= ChallengeParser.maxChallenges { break }
        }
        return challenges
    }
}
