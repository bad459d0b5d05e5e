// SPDX-License-Identifier: Apache-2.0

public import TurnpikeEssentials

/// The option with the template of a call's URL, which names its spans.
public enum URLTemplate: RequestOptionKey {
    /// The template: `/users/{id}`.
    public typealias Value = String
}

extension Call {
    /// Names the spans of this call after a template of its URL (`url.template`).
    ///
    /// A span is then named `GET /users/{id}` instead of `GET`. Text with IDs in it makes as many
    /// names as there are IDs, which few systems accept.
    public func urlTemplate(_ template: String) -> Call { option(URLTemplate.self, template) }
}
