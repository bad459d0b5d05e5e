public import TurnpikeCore

/// What a server asks for in `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 §11.3).
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
    /// The one value of a scheme that has no parameters, or nil.
    public let token68: String?
    /// The parameters in order; no name comes twice.
    public let parameters: [Parameter]

    /// The value of a parameter, or nil where there is none.
    /// - Parameter name: The name in lower case.
    public subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// The protection space's name, or nil.
    public var realm: String? { self["realm"] }

    /// The challenges of a response in order, from one field line or several.
    ///
    /// The syntax is taken strictly, and what comes is bounded: 32 challenges of 32 parameters, in
    /// lines of 16 KiB. In each line, what stands before a fault or a bound counts; the challenge
    /// with the fault, and what follows, does not.
    /// - Parameters:
    ///   - headers: The fields of the response.
    ///   - name: The field.
    /// - Returns: The challenges; never more than 32.
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
