// SPDX-License-Identifier: Apache-2.0

public import TurnpikeEssentials

/// The option with the template of a call's URL, after which its spans are named.
public enum URLTemplate: RequestOptionKey {
    /// The template: `/users/{id}`.
    public typealias Value = String
}

extension Call {
    /// Names the spans of this call after a template of its URL (`url.template`).
    ///
    /// A span is then named `GET /users/{id}` instead of `GET`. Do not pass a text with IDs: it
    /// creates one name for each ID, and few tracing systems accept so many names.
    public func urlTemplate(_ template: String) -> Call { option(URLTemplate.self, template) }
}
