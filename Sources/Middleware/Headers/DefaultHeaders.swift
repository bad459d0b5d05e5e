// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Sets default header fields on requests that do not have these fields.
///
/// The gate never changes a field that the caller or an outer gate has set. Do not set `Accept`,
/// which the serializers set, or `Accept-Encoding`, which the transport sets. URLSession always
/// decodes the codings that URLSession negotiates. Fields with secrets have the same restrictions
/// as in ``SetHeaders``.
public struct DefaultHeaders: SynchronousRequestAdapter {
    private let headers: HTTPHeaders
    private let secrets: SecretFields

    /// Creates a gate that sets missing fields.
    /// - Parameters:
    ///   - headers: The default fields. If the request has no field of a name, the gate sets all
    ///     lines with that name.
    ///   - languages: The languages for `Accept-Language`, most preferred first; only the first six
    ///     count. There is no default, because the locale of a server is not the locale of its
    ///     users.
    ///   - origins: The origins that receive fields with secrets. If nil, only the origin where a
    ///     call begins receives the fields with secrets.
    public init(
        _ headers: HTTPHeaders = [:], languages: [String] = [], origins: CredentialOrigins? = nil
    ) {
        var headers = headers
        let language = Self.acceptLanguage(languages)
        if !language.isEmpty { headers.setIfAbsent(.acceptLanguage, language) }
        self.headers = headers
        secrets = SecretFields(for: origins)
    }

    /// States the missing fields that the gate sets, and the origins that get fields with secrets.
    public func facts(for request: Request?) -> GateFacts? {
        let names = headers.map(\.name).filter { request?.headers.contains($0) != true }
        var facts = GateFacts("sets header fields that are missing")
        facts.effects = secrets.effects(of: names, on: request)
        facts.origins = secrets.listed
        facts.fields = facts.fields(from: headers)
        if request != nil, facts.effects.isEmpty {
            facts.passedOver = "the request has all these fields"
        }
        return facts
    }

    /// Sets the fields that are missing.
    public func adapt(_ request: inout Request, context: Context) throws {
        if let defect = headers.defect {
            throw ClientError(.invalidRequest, "the gate \(gateName): \(defect)")
        }
        let heldBack = try secrets.heldBack(headers, from: request, by: self, in: context)
        let present = request.headers
        for field in headers where !present.contains(field.name) && !heldBack.contains(field.name) {
            request.headers.append(field.name, field.value)
        }
    }

    // The value of `Accept-Language` (RFC 9110 §12.5.4).
    private static func acceptLanguage(_ languages: [String]) -> String {
        weighted(languages.filter(isLanguageRange).prefix(6))
    }

    // Returns a list of choices, most preferred first, with weights that decrease by 0.1 (RFC 9110
    // §12.4.2): `br;q=1.0, gzip;q=0.9, deflate;q=0.8`. The lowest weight is 0.1, because a weight
    // of 0 refuses the choice.
    static func weighted(_ choices: some Sequence<String>) -> String {
        choices.enumerated().map { index, choice in
            "\(choice);q=" + (index == 0 ? "1.0" : "0.\(max(10 - index, 1))")
        }.joined(separator: ", ")
    }

    private static func isLanguageRange(_ text: String) -> Bool {
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
    /// Sets header fields that are missing; see ``DefaultHeaders/init(_:languages:origins:)``.
    public static func defaultHeaders(
        _ headers: HTTPHeaders = [:], languages: [String] = [], origins: CredentialOrigins? = nil
    ) -> Self {
        DefaultHeaders(headers, languages: languages, origins: origins)
    }
}
