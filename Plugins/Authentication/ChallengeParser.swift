// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Parses the grammar of RFC 9110 §11.2 and §11.6.1 in one loop over the bytes.
struct ChallengeParser {
    static let maxChallenges = 32
    static let maxParameters = 32
    static let maxBytes = 16_384

    private let bytes: [UInt8]
    private var position = 0

    /// A text that is longer than `maxBytes` counts as empty.
    init(_ text: String) { bytes = text.utf8.count > Self.maxBytes ? [] : Array(text.utf8) }

    mutating func challenges(upTo limit: Int) -> [AuthenticationChallenge] {
        var challenges: [AuthenticationChallenge] = []
        skipSeparators()
        while challenges.count < limit, position < bytes.count, let challenge = challenge() {
            challenges.append(challenge)
            skipSeparators()
        }
        return challenges
    }

    mutating func parameters() -> [AuthenticationChallenge.Parameter]? {
        skipSeparators()
        guard let parameters = parameterList(), position == bytes.count else { return nil }
        return parameters
    }

    // challenge = auth-scheme [ 1*SP ( token68 / #auth-param ) ]
    private mutating func challenge() -> AuthenticationChallenge? {
        guard let scheme = token()?.lowercased() else { return nil }
        guard position < bytes.count, bytes[position] != Self.comma else {
            return AuthenticationChallenge(scheme: scheme, token68: nil, parameters: [])
        }
        guard bytes[position] == 0x20 else { return nil }
        skipBlanks()
        if let token68 = token68() {
            return AuthenticationChallenge(scheme: scheme, token68: token68, parameters: [])
        }
        guard let parameters = parameterList() else { return nil }
        return AuthenticationChallenge(scheme: scheme, token68: nil, parameters: parameters)
    }

    // The list ends at the end of the text, or at the scheme of the next challenge.
    private mutating func parameterList() -> [AuthenticationChallenge.Parameter]? {
        var parameters: [AuthenticationChallenge.Parameter] = []
        while true {
            let start = position
            skipSeparators()
            guard position < bytes.count else { return parameters }
            let isApart = bytes[start..<position].contains(Self.comma)
            let element = position
            guard let name = token() else { return nil }
            skipBlanks()
            guard position < bytes.count, bytes[position] == Self.equals else {
                position = element
                return isApart ? parameters : nil
            }
            guard isApart || parameters.isEmpty else { return nil }
            position += 1
            skipBlanks()
            guard
                let value = position < bytes.count && bytes[position] == Self.quote
                    ? quotedString() : token()
            else { return nil }
            let parameter = AuthenticationChallenge.Parameter(
                name: name.lowercased(), value: value)
            guard parameters.count < Self.maxParameters,
                !parameters.contains(where: { $0.name == parameter.name })
            else { return nil }
            parameters.append(parameter)
        }
    }

    // token68 = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="
    private mutating func token68() -> String? {
        let start = position
        var end = position
        while end < bytes.count, Self.isToken68Byte(bytes[end]) { end += 1 }
        guard end > start else { return nil }
        while end < bytes.count, bytes[end] == Self.equals { end += 1 }
        var next = end
        while next < bytes.count, Grammar.isBlank(bytes[next]) { next += 1 }
        // Before other bytes, the text is the name of a parameter, or the next scheme.
        guard next == bytes.count || bytes[next] == Self.comma else { return nil }
        position = next
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private mutating func token() -> String? {
        let start = position
        while position < bytes.count, Grammar.isTokenByte(bytes[position]) { position += 1 }
        return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
    }

    // The grammar is in RFC 9110 §5.6.4.
    private mutating func quotedString() -> String? {
        var value: [UInt8] = []
        position += 1
        while position < bytes.count {
            var byte = bytes[position]
            if byte == Self.quote {
                position += 1
                return String(decoding: value, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\\") {
                position += 1
                guard position < bytes.count else { return nil }
                byte = bytes[position]
            }
            guard byte == 0x09 || (byte >= 0x20 && byte != 0x7F) else { return nil }
            value.append(byte)
            position += 1
        }
        return nil
    }

    private mutating func skipSeparators() {
        while position < bytes.count,
            Grammar.isBlank(bytes[position]) || bytes[position] == Self.comma
        {
            position += 1
        }
    }

    private mutating func skipBlanks() {
        while position < bytes.count, Grammar.isBlank(bytes[position]) { position += 1 }
    }

    private static let comma = UInt8(ascii: ",")
    private static let equals = UInt8(ascii: "=")
    private static let quote = UInt8(ascii: "\"")

    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: Grammar.isAlphanumeric(byte)
        }
    }
}

/// An authentication challenge of a server, from `WWW-Authenticate` or `Proxy-Authenticate` (RFC
/// 9110 §11.3).
public struct AuthenticationChallenge: Sendable, Hashable {
    /// One parameter of a challenge.
    public struct Parameter: Sendable, Hashable {
        /// The name in lower case.
        public let name: String
        /// The value, without quotes and escapes.
        public let value: String
    }

    /// The authentication scheme in lower case: `basic`, `digest`, `bearer`.
    public let scheme: String
    /// The value of a challenge that has a single value instead of parameters, or nil.
    public let token68: String?
    /// The parameters in order; each name occurs once.
    public let parameters: [Parameter]

    /// The value of a parameter, or nil if the challenge does not have the parameter.
    /// - Parameter name: The name of the parameter in lower case.
    public subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Returns the challenges of a response, in order, from one field line or several.
    ///
    /// The parser is strict and has limits: 32 challenges with 32 parameters each, and 16 KiB for a
    /// line. If a line has a syntax error or exceeds a limit, the result contains only the
    /// challenges before the error.
    /// - Parameters:
    ///   - headers: The fields of the response.
    ///   - name: The name of the field with the challenges.
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

    /// Returns the parameters of a text such as the value of `Authentication-Info`, or nil if the
    /// text is not a list of parameters.
    public static func parameters(in text: String) -> [Parameter]? {
        var parser = ChallengeParser(text)
        return parser.parameters()
    }
}
