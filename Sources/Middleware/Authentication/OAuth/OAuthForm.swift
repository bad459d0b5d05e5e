// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The form fields of a request to a token endpoint, in order; their values are never printed.
struct OAuthForm: Sendable {
    private var fields: [(name: String, value: Secret)]

    init(grant: String, _ scope: [String], _ parameters: [String: String]) {
        fields = [("grant_type", Secret(grant))]
        if !scope.isEmpty { fields.append(("scope", Secret(scope.joined(separator: " ")))) }
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
            fields.append((name, Secret(value)))
        }
    }

    func adding(_ name: String, _ value: String) -> OAuthForm {
        var copy = self
        copy.fields.append((name, Secret(value)))
        return copy
    }

    /// The form, encoded.
    var encoded: String {
        fields.map { Self.encode($0.name) + "=" + Self.encode($0.value.value) }
            .joined(separator: "&")
    }

    static func encode(_ text: String) -> String { PercentEncoding.unreserved.encode(text) }
}
