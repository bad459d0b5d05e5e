public import TurnpikeCore

/// Sets header fields on each request that does not have them.
///
/// What the caller or a gate outside set stays, whatever its value. `Accept` is better left to the
/// serializers, and `Accept-Encoding` to the transport: URLSession decodes what it negotiates by
/// itself and cannot be told not to. Fields with secrets stay where ``SetHeaders`` keeps them.
public struct DefaultHeaders: SynchronousRequestAdapter {
    private let headers: HTTPHeaders
    private let secrets: SecretFields

    /// Creates a gate that sets what is absent.
    /// - Parameters:
    ///   - headers: The fields; all lines of a name are set where there is none of that name.
    ///   - languages: The languages wanted, dearest first, as `Accept-Language` with falling
    ///     weights; the first six count. A server's own locale says nothing of its users, so none is
    ///     assumed.
    ///   - origins: Where fields with secrets may go; nil is wherever a call begins.
    public init(
        _ headers: HTTPHeaders = [:], languages: [String] = [], origins: CredentialOrigins? = nil
    ) {
        var headers = headers
        let language = Self.acceptLanguage(languages)
        if !language.isEmpty { headers.setIfAbsent(.acceptLanguage, language) }
        self.headers = headers
        secrets = SecretFields(for: origins)
    }

    /// Sets the fields that are absent.
    public func adapt(_ request: inout Request, context: Context) throws {
        if let defect = headers.defect {
            throw ClientError(.invalidRequest, "the gate \(name): \(defect)")
        }
        let heldBack = try secrets.heldBack(headers, from: request, gate: name, in: context)
        let absent = headers.filter {
            !request.headers.contains($0.name) && !heldBack.contains($0.name)
        }
        for field in absent { request.headers.append(field.name, field.value) }
    }

    // For `Accept-Language` (RFC 9110 §12.5.4).
    private static func acceptLanguage(_ languages: [String]) -> String {
        weighted(languages.filter(isLanguageRange).prefix(6))
    }

    /// A list of choices, dearest first, with weights that fall by a tenth (RFC 9110 §12.4.2):
    /// `br;q=1.0, gzip;q=0.9, deflate;q=0.8`.
    ///
    /// None falls below 0.1, for 0 would refuse it.
    package static func weighted(_ choices: some Sequence<String>) -> String {
        choices.enumerated().map { index, choice in
            "\(choice);q=" + (index == 0 ? "1.0" : "0.\(max(10 - index, 1))")
        }.joined(separator: ", ")
    }

    static func isLanguageRange(_ text: String) -> Bool {
        if text == "*" { return true }
        return text.split(separator: "-", omittingEmptySubsequences: false).allSatisfy { part in
            (1...8).contains(part.utf8.count)
                && part.unicodeScalars.allSatisfy { $0.isASCII && $0.properties.isAlphanumeric }
        }
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isAlphanumeric: Bool { isAlphabetic || numericType != nil }
}

extension Gate where Self == DefaultHeaders {
    /// Sets header fields where they are absent; see
    /// ``DefaultHeaders/init(_:languages:origins:)``.
    public static func defaultHeaders(
        _ headers: HTTPHeaders = [:], languages: [String] = [], origins: CredentialOrigins? = nil
    ) -> Self {
        DefaultHeaders(headers, languages: languages, origins: origins)
    }
}
