// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Decides which responses may have no content.
public struct EmptyContentRule: Sendable {
    private let statuses: Set<HTTPStatus>?
    private let methods: Set<HTTPMethod>
    private(set) var countsBlanks = false

    /// Creates a rule that allows empty content for these statuses and for responses to these
    /// methods.
    public init(statuses: Set<HTTPStatus> = [204, 205], methods: Set<HTTPMethod> = [.head]) {
        self.statuses = statuses
        self.methods = methods
    }

    private init() {
        statuses = nil
        methods = []
    }

    /// Allows any response to be empty.
    public static let any = EmptyContentRule()

    /// Returns the same rule, which also treats up to 16 whitespace bytes as empty.
    ///
    /// Some frameworks send whitespace instead of nothing.
    public func countingBlanks() -> Self {
        var copy = self
        copy.countsBlanks = true
        return copy
    }

    func allows(_ response: Response, to request: Request) -> Bool {
        statuses?.contains(response.status) ?? true || methods.contains(request.method)
    }
}
