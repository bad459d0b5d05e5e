// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Sets and adds header fields on each request.
///
/// Inside a ``Redirect``, the gate sets the fields on each hop. If a redirect leads to an origin
/// that is not listed, the gate does not send fields with secrets. The name of a field decides
/// whether the field is a secret (``/TurnpikeCore/Redaction/hides(header:)``: `Authorization`,
/// `X-Api-Key`). To restrict other fields to an origin, use ``Only``.
public struct SetHeaders: SynchronousRequestAdapter {
    private let replacing: HTTPHeaders
    private let adding: HTTPHeaders
    private let secrets: SecretFields

    /// Creates a gate that sets header fields.
    /// - Parameters:
    ///   - headers: Fields that replace the fields of the same names.
    ///   - adding: Fields that are added after the fields of the same names.
    ///   - origins: The origins that receive fields with secrets. If nil, only the origin where a
    ///     call begins receives the fields with secrets.
    public init(
        _ headers: HTTPHeaders = [:], adding: HTTPHeaders = [:], origins: CredentialOrigins? = nil
    ) {
        replacing = headers
        self.adding = adding
        secrets = SecretFields(for: origins)
    }

    /// States the fields that the gate sets, and the origins that get fields with secrets.
    public func facts(for request: Request?) -> GateFacts? {
        let names = (replacing.map(\.name) + adding.map(\.name))
        var facts = GateFacts("sets header fields")
        facts.effects = secrets.effects(of: names, on: request)
        facts.origins = secrets.listed
        facts.fields = facts.fields(from: Array(replacing) + Array(adding))
        if request != nil, facts.effects.isEmpty {
            facts.passedOver = "the gate sets no field for this origin"
        }
        return facts
    }

    /// Sets the fields.
    public func adapt(_ request: inout Request, context: Context) throws {
        if let defect = replacing.defect ?? adding.defect {
            throw ClientError(.invalidRequest, "the gate \(gateName): \(defect)")
        }
        let heldBack = try secrets.heldBack(replacing, adding, from: request, by: self, in: context)
        for (index, field) in replacing.enumerated() where !heldBack.contains(field.name) {
            if replacing.prefix(index).contains(where: { $0.name == field.name }) {
                request.headers.append(field.name, field.value)
            } else {
                request.headers[field.name] = field.value
            }
        }
        for field in adding where !heldBack.contains(field.name) {
            request.headers.append(field.name, field.value)
        }
    }
}

extension Gate where Self == SetHeaders {
    /// Sets and adds header fields; see ``SetHeaders/init(_:adding:origins:)``.
    public static func setHeaders(
        _ headers: HTTPHeaders = [:], adding: HTTPHeaders = [:], origins: CredentialOrigins? = nil
    ) -> Self {
        SetHeaders(headers, adding: adding, origins: origins)
    }
}
